package wire

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/jsonscan"
)

// Unknown reads a part of a frame whose type the format does not have: an event, a
// block, an item. Where the type or a member of the part shows that it belongs to a call,
// Problem has its text. Any other part is ignored. what names the part.
func (w *Writer) Unknown(what, kind string, part jsonscan.Value) {
	if key := shownBy(part); key != "" || part.IsNested() && namesCall(kind) {
		w.UnknownCall(what, kind, key)
	}
}

// UnknownCall records that a part of a type that the format does not have belongs to a
// call, as a member with this key shows, if any.
func (w *Writer) UnknownCall(what, kind, key string) {
	text := fmt.Sprintf("the %s of the unknown type %q", what, Clip(kind))
	if kind == "" {
		text = fmt.Sprintf("the %s without a type", what)
	}
	if key != "" {
		text += fmt.Sprintf(" has %q", Clip(key))
	}
	w.unknown(text)
}

// UnknownMember reads a member of an object of a frame which the format does not have, as
// Unknown does. what names the object.
func (w *Writer) UnknownMember(what, key string, v jsonscan.Value) {
	if !holds(v) || declares(key, v) {
		return
	}
	within := shownBy(v)
	if within == "" && !ofCall(key) {
		return
	}
	text := fmt.Sprintf("%s has the unknown member %q", what, Clip(key))
	if within != "" {
		text += fmt.Sprintf(" with %q", Clip(within))
	}
	w.unknown(text)
}

// UnknownMembers reads the members of an object as UnknownMember does, without those that
// the format has.
func (w *Writer) UnknownMembers(what string, v jsonscan.Value, known ...string) {
	for m := v.Members(); m.Next(); {
		if !slices.Contains(known, m.Key) {
			w.UnknownMember(what, m.Key, m.Value)
		}
	}
}

// ReadKnown reads the members of an object as jsonscan.Value.Read does, and the others as
// UnknownMember does.
func (w *Writer) ReadKnown(what string, v jsonscan.Value, fields ...jsonscan.Field) {
	at, found := 0, false
	for m := v.Members(); m.Next(); {
		if at, found = jsonscan.Assign(fields, at, m.Key, &m.Value); !found {
			w.UnknownMember(what, m.Key, m.Value)
		}
	}
}

// ReadFrame reads the members of a frame as ReadKnown does.
func (w *Writer) ReadFrame(what string, f Frame, fields ...jsonscan.Field) {
	at, found := 0, false
	for m := f.Members(); m.Next(); {
		if at, found = jsonscan.Assign(fields, at, m.Key, &m.Value); !found {
			w.UnknownMember(what, m.Key, m.Value)
		}
	}
}

func (w *Writer) unknown(text string) {
	if w.unread == nil {
		w.unread = &Problem{Code: BadShape, Text: text + ": it belongs to a call, and was not read"}
	}
}

// ShowsCall reports whether a value has a member that shows a call.
func ShowsCall(v jsonscan.Value) bool { return callMember(v, maxUnknown) != "" }

// Problem returns the first unknown part of the frame that belongs to a call, or nil.
func (w *Writer) Problem() *Problem { return w.unread }

// maxUnknown is the number of levels of an unknown part in which members of calls are
// looked for.
const maxUnknown = 6

// callMember returns the key of the first member of a part that shows a call: its id, the
// name of its tool, or its args, which may be empty beside an id or a name; or the type of
// an object in the part. It returns "" where there is none.
func callMember(part jsonscan.Value, levels int) string {
	if levels == 0 {
		return ""
	}
	for e := part.Elements(); e.Next(); {
		if key := callMember(e.Value, levels-1); key != "" {
			return key
		}
	}
	named, kind, empty := false, "", ""
	for m := part.Members(); m.Next(); {
		named = named || (m.Key == "id" || m.Key == "name") && m.Value.IsString() && holds(m.Value)
		switch {
		case declares(m.Key, m.Value):
		case !holds(m.Value):
			if (m.Value.IsString() || m.Value.IsObject()) && hasArgs(m.Key) {
				empty = m.Key
			}
		case ofCall(m.Key):
			return m.Key
		case m.Key == "type" && namesCall(m.Value.Str):
			kind = m.Value.Str
		default:
			if key := callMember(m.Value, levels-1); key != "" {
				return key
			}
		}
	}
	if named && empty != "" {
		return empty
	}
	return kind
}

// shownBy returns the key of a member that shows a call, or "". A call without args has an
// id and a name.
func shownBy(part jsonscan.Value) string {
	key := callMember(part, maxUnknown)
	if id, name := part.Member("id"), part.Member("name"); key == "" && id.IsString() && name.IsString() && holds(id) && holds(name) {
		return "name"
	}
	return key
}

// holds reports whether a member can hold something of a call: counts, flags and empty
// values have the same names. SDKs for Go write the members of all types, where an object
// that is not there has an empty type.
func holds(v jsonscan.Value) bool {
	return (v.IsString() || v.IsNested()) && len(v.Raw) > len(`""`) && v.Member("type").Raw != `""`
}

// declares reports whether a member describes the tools of an agent, not their calls.
func declares(key string, v jsonscan.Value) bool {
	switch key {
	case "tools":
		return v.IsArray()
	case "tool_choice", "toolChoice", "toolConfig", "tool_config", "schema", "input_schema", "inputSchema":
		return true
	}
	return false
}

// ofCall reports whether members with this key are the id, the tool or the args of a
// call, or a call.
func ofCall(key string) bool {
	var buf [maxName]byte
	switch s := plainName(&buf, key); s {
	case "callid", "toolid", "toolname", "functionname", "tool", "function":
		return true
	default:
		return isArgs(s) || hasCall(s)
	}
}

func hasArgs(key string) bool {
	var buf [maxName]byte
	return isArgs(plainName(&buf, key))
}

func isArgs(s string) bool {
	switch s {
	case "input", "rawinput", "inputtextdelta", "partialjson", "parameters":
		return true
	}
	args := strings.HasPrefix(s, "args") || strings.HasSuffix(s, "args") && !strings.HasSuffix(s, "kwargs")
	return args || strings.Contains(s, "argument")
}

func namesCall(kind string) bool {
	var buf [maxName]byte
	return hasCall(plainName(&buf, kind))
}

func hasCall(s string) bool {
	if !strings.Contains(s, "tool") && !strings.Contains(s, "function") {
		return false
	}
	for _, word := range [...]string{"toolcall", "tooluse", "functioncall", "toolinput", "tooloutput", "toolresult", "toolresponse", "functionresponse"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// maxName is the maximum number of bytes of a name that are read.
const maxName = 64

// plainName returns a name in lower case without the characters between its words, which
// differ from format to format, and without a version at its end. It is valid as long as
// buf is.
func plainName(buf *[maxName]byte, name string) string {
	n := 0
	for i := 0; i < len(name) && n < len(buf); i++ {
		switch c := name[i]; {
		case c == '_', c == '-', c == '.', c == '/':
			continue
		case c >= 'A' && c <= 'Z':
			buf[n] = c - 'A' + 'a'
		default:
			buf[n] = c
		}
		n++
	}
	return strings.TrimSuffix(strings.TrimRight(Alias(buf[:n]), "0123456789"), "v")
}
