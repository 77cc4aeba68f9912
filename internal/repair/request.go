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
//	format    the shape of the history (patch.Shape); if absent, it is recognised
//	messages  the history: a list, or an object with the list as "messages", "contents" or "input"
//	options   patch.Options; if absent, the defaults
//	session   the session whose event log is searched first; if absent, none
//
// The body of a request that a frontend sends to its agent is a history, too.
type Request struct {
	Format   patch.Shape
	Messages json.RawMessage
	Options  patch.Options
	Session  string
}

func fields() []string { return []string{"format", "messages", "options", "session"} }

// parse parses a request. It refuses unknown fields: a misspelt option would
// otherwise silently select another repair.
func parse(body []byte) (r Request, err error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(body, &in); err != nil {
		return r, malformed(err)
	}
	if in == nil {
		return r, refuse(statusBad, "the request is null, not an object")
	}
	if isFrontends(in) {
		return Request{Messages: body}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(fields(), name) {
			return r, refuse(statusBad, "the request has an unknown field %.64q (known: %s)", name, strings.Join(fields(), ", "))
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
			return r, refuse(statusBad, "%s", text(err))
		}
	}
	return r, nil
}

// isFrontends reports whether an object is what a frontend sends to its agent: the
// RunAgentInput of AG-UI, the body of useChat, or the contents of Gemini.
func isFrontends(in map[string]json.RawMessage) bool {
	has := func(name string) bool { return in[name] != nil }
	return has("threadId") && has("runId") || has("id") && has("trigger") || has("contents") && !has("messages")
}

func known() string {
	var names []string
	for _, s := range patch.Repairable() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func malformed(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return refuse(statusBad, "the request is not JSON: %s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), max(0, syntax.Offset-1))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refuse(statusBad, "the request is not a JSON object but %s", e.Value)
	}
	return refuse(statusBad, "the request is not a JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
}
