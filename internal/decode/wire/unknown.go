package wire

import (
	"fmt"
	"strings"

	"streamer/internal/jsonscan"
)

// Unknown reads a part of a frame whose type the format does not have: an event, a
// block, an item. Where the type or a member of the part shows that it belongs to a call,
// Problem has its text. Any other part is ignored. what names the part.
func (w *Writer) Unknown(what, kind string, part jsonscan.Value) {
	if w.unread != nil {
		return
	}
	key := callMember(part, maxUnknown)
	if key == "" && (!part.IsNested() || !namesCall(kind)) {
		return
	}
	text := fmt.Sprintf("the %s of the unknown type %q", what, Clip(kind))
	if kind == "" {
		text = fmt.Sprintf("the %s without a type", what)
	}
	if key != "" {
		text += fmt.Sprintf(" has %q", Clip(key))
	}
	w.unread = &Problem{Code: BadShape, Text: text + ": it belongs to a call, and was not read"}
}

// UnknownMember reads a member of an object of a frame which the format does not have, as
// Unknown does. what names the object.
func (w *Writer) UnknownMember(what, key string, v jsonscan.Value) {
	if w.unread != nil || !holds(v) {
		return
	}
	within := ""
	if !ofCall(key) {
		if within = callMember(v, maxUnknown); within == "" {
			return
		}
		within = fmt.Sprintf(" with %q", Clip(within))
	}
	w.unread = &Problem{Code: BadShape, Text: fmt.Sprintf("%s has an unknown member %q%s: it belongs to a call, and was not read", what, Clip(key), within)}
}

// Problem returns the first unknown part of the frame that belongs to a call, or nil.
func (w *Writer) Problem() *Problem { return w.unread }

// maxUnknown is the number of levels of an unknown part in which members of calls are
// looked for.
const maxUnknown = 6

// callMember returns the key of the first member of a part that shows a call: its id, the
// name of its tool, or its args. It returns "" where there is none.
func callMember(part jsonscan.Value, levels int) string {
	if levels == 0 {
		return ""
	}
	for e := part.Elements(); e.Next(); {
		if key := callMember(e.Value, levels-1); key != "" {
			return key
		}
	}
	for m := part.Members(); m.Next(); {
		switch {
		case !holds(m.Value), declares(m.Key):
		case ofCall(m.Key):
			return m.Key
		default:
			if key := callMember(m.Value, levels-1); key != "" {
				return key
			}
		}
	}
	return ""
}

// holds reports whether a member can hold something of a call: counts and flags have the
// same names.
func holds(v jsonscan.Value) bool { return v.IsString() || v.IsNested() }

// declares reports whether the value of a member with this key describes the tools of an
// agent, not their calls.
func declares(key string) bool {
	switch key {
	case "tools", "tool_choice", "toolChoice", "toolConfig", "tool_config", "schema", "input_schema", "inputSchema":
		return true
	}
	return false
}

// ofCall reports whether members with this key are the id, the tool or the args of a
// call, or a call.
func ofCall(key string) bool {
	switch s := plainName(key); s {
	case "callid", "toolid", "toolname", "functionname", "tool", "function",
		"args", "arguments", "argstextdelta", "argumentsdelta", "inputtextdelta", "partialjson", "partialargs",
		"input", "rawinput", "toolinput", "parameters":
		return true
	default:
		return namesCall(s)
	}
}

// namesCall reports whether a type or key has the name of a call or of a result in it.
func namesCall(kind string) bool {
	kind = plainName(kind)
	for _, word := range [...]string{"toolcall", "tooluse", "functioncall", "toolresult", "toolresponse", "functionresponse"} {
		if strings.Contains(kind, word) {
			return true
		}
	}
	return false
}

// plainName returns a name in lower case without the characters between its words, which
// differ from format to format.
func plainName(name string) string {
	if len(name) > MaxID {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == '_', r == '-', r == '.', r == '/':
			return -1
		}
		return r
	}, name)
}
