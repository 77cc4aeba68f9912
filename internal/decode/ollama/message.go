package ollama

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r reader) message(message jsonscan.Value) *wire.Problem {
	var role, content, thinking, calls jsonscan.Value
	r.ReadKnown("the message", message,
		role.From("role"), content.From("content"), content.From("response"), thinking.From("thinking"),
		calls.From("tool_calls"),
	)
	text, reasoning := r.Text(content), r.Text(thinking)
	if text == "" && reasoning == "" && !calls.Present() {
		return nil // the last line has an empty message
	}
	if !r.d.Begun {
		r.d.Begun = true
		r.Emit(chunks.Chunk{Kind: chunks.Start, Role: r.Text(role)})
	}
	if reasoning != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Reasoning, Text: reasoning})
	}
	if text != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Text, Text: text})
	}
	if calls.Present() && !calls.IsArray() {
		return wire.WrongType("message.tool_calls", calls, "an array")
	}
	var first *wire.Problem
	for e := calls.Elements(); e.Next(); {
		if p := r.toolCall(e.Value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

func (r reader) toolCall(call jsonscan.Value) *wire.Problem {
	var id, function, name, args jsonscan.Value
	r.ReadKnown("message.tool_calls[]", call, id.From("id"), function.From("function"))
	if !function.IsObject() {
		return wire.WrongType("message.tool_calls[].function", function, "an object")
	}
	c := chunks.Chunk{Kind: chunks.Fragment, ID: r.Text(id), Final: true, Opens: true}
	for m := function.Members(); m.Next(); {
		switch m.Key {
		case "index":
			if m.Value.Present() {
				c.Index = m.Value.Raw
			}
		case "name":
			name = m.Value
		case "arguments":
			args = m.Value
		default:
			r.UnknownMember("message.tool_calls[].function", m.Key, m.Value)
		}
	}
	if c.Name = r.Text(name); c.Name == "" {
		return wire.WrongType("message.tool_calls[].function.name", name, "a string that is not empty")
	}
	if c.Object = args.IsNested(); c.Object {
		c.Args = r.Compact(args.Raw)
	} else {
		c.Args = r.Text(args)
	}
	r.Emit(c)
	r.Emit(chunks.Chunk{Kind: chunks.Seal, ID: c.ID, Index: c.Index})
	return nil
}

// finish emits the end of a message and the usage, which the last line contains.
func (r reader) finish(reason string, event jsonscan.Value) {
	if !r.d.Begun && (reason == "load" || reason == "unload") {
		return // the model was loaded or unloaded; there is no message
	}
	if !r.d.Begun {
		r.Emit(chunks.Chunk{Kind: chunks.Start})
	}
	r.d.Begun = false
	if reason == "" {
		reason = "stop" // older versions omit it
	}
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: wire.Truncates(reason)})
	usage := r.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := event.Members(); m.Next(); {
			if strings.HasSuffix(m.Key, "_count") || strings.HasSuffix(m.Key, "_duration") {
				dst = wire.AppendMember(dst, &m)
			}
		}
		return append(dst, '}')
	})
	if usage != "{}" {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: usage})
	}
	r.Emit(chunks.Chunk{Kind: chunks.Ended})
}
