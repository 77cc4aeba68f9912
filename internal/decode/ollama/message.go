package ollama

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) message(w *wire.Writer, message jsonscan.Value) (first *wire.Problem) {
	var role, content, thinking, calls jsonscan.Value
	w.ReadKnown("the message", message,
		role.From("role"), content.From("content"), content.From("response"), thinking.From("thinking"),
		calls.From("tool_calls"),
	)
	if w.Text(content) == "" && w.Text(thinking) == "" && !calls.Present() {
		return nil // the last line has an empty message
	}
	if !d.Begun {
		d.Begun = true
		w.Emit(chunks.Chunk{Kind: chunks.Start, Role: w.Text(role)})
	}
	w.EmitText(chunks.Chunk{Kind: chunks.Reasoning}, thinking)
	w.EmitText(chunks.Chunk{Kind: chunks.Text}, content)
	if calls.Present() && !calls.IsArray() {
		return wire.WrongType("message.tool_calls", calls, "an array")
	}
	for e := calls.Elements(); e.Next(); {
		first = cmp.Or(first, d.toolCall(w, e.Value))
	}
	return first
}

func (d *decoder) toolCall(w *wire.Writer, call jsonscan.Value) *wire.Problem {
	var id, function, index, name, args jsonscan.Value
	w.ReadKnown("message.tool_calls[]", call, id.From("id"), function.From("function"))
	if !function.IsObject() {
		return wire.WrongType("message.tool_calls[].function", function, "an object")
	}
	w.ReadKnown("message.tool_calls[].function", function, index.From("index"), name.From("name"), args.From("arguments"))
	c := chunks.Chunk{
		Kind: chunks.Fragment, Index: wire.RawIndex(index), ID: w.Text(id), Name: w.Text(name), Final: true, Opens: true,
	}
	if c.Name == "" {
		return wire.WrongType("message.tool_calls[].function.name", name, "a string that is not empty")
	}
	w.SetArgs(&c, args)
	w.Emit(c)
	w.Emit(chunks.Chunk{Kind: chunks.Seal, ID: c.ID, Index: c.Index})
	return nil
}

// finish emits the end of a message and the usage, which the last line contains.
func (d *decoder) finish(w *wire.Writer, reason string, event jsonscan.Value) {
	if !d.Begun && (reason == "load" || reason == "unload") {
		return // the model was loaded or unloaded; there is no message
	}
	if !d.Begun {
		w.Emit(chunks.Chunk{Kind: chunks.Start})
	}
	d.Begun = false
	reason = cmp.Or(reason, "stop") // older versions omit it
	w.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: wire.Truncates(reason)})
	usage := w.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := event.Members(); m.Next(); {
			if strings.HasSuffix(m.Key, "_count") || strings.HasSuffix(m.Key, "_duration") {
				dst = wire.AppendMember(dst, &m)
			}
		}
		return append(dst, '}')
	})
	if usage != "{}" {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: usage})
	}
	w.Emit(chunks.Chunk{Kind: chunks.Ended})
}
