package repair

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"streamer/internal/patch"
)

// Request asks for the repair of a history. Its JSON is an object:
//
//	format    the shape of the history (patch.Shapes); if absent, it is found out
//	messages  the history: a list, or an object that has it as "messages" or "input"
//	options   patch.Options; if absent, the defaults
//	session   the session whose event log is asked first; if absent, none
type Request struct {
	Format   patch.Shape
	Messages json.RawMessage
	Options  patch.Options
	Session  string
}

// fields are the names there are.
var fields = [...]string{"format", "messages", "options", "session"}

// parse reads a request. Nothing in it is overlooked: what it misspells would
// otherwise be repaired by other rules than were asked for.
func parse(body []byte) (r Request, err error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(body, &in); err != nil {
		return r, malformed(err)
	}
	if in == nil {
		return r, refuse(statusBad, "the request is null, not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(fields[:], name) {
			return r, refuse(statusBad, "the request has an unknown field %.64q (known: %s)", name, strings.Join(fields[:], ", "))
		}
	}
	if r.Messages = in["messages"]; r.Messages == nil {
		return r, refuse(statusBad, `the request has no "messages"`)
	}
	var format string
	for name, to := range map[string]*string{"format": &format, "session": &r.Session} {
		if raw := in[name]; raw != nil && json.Unmarshal(raw, to) != nil {
			return r, refuse(statusBad, "%q is not a string", name)
		}
	}
	if r.Format = patch.Shape(format); format != "" && !slices.Contains(patch.Repairable(), r.Format) {
		return r, refuse(statusBad, "unknown format %.64q (known: %s)", format, known())
	}
	if raw := in["options"]; raw != nil && string(raw) != "null" {
		if r.Options, err = patch.ParseOptions(raw); err != nil {
			return r, refuse(statusBad, "%s", words(err))
		}
	}
	return r, nil
}

// known lists the formats there are.
func known() string {
	var names []string
	for _, s := range patch.Repairable() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// malformed says what keeps a body from being a request.
func malformed(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return refuse(statusBad, "the request is not JSON: %s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refuse(statusBad, "the request is not a JSON object but %s", e.Value)
	}
	return refuse(statusBad, "the request is not a JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
}
