// Package ollama reads the stream of Ollama's /api/chat, one JSON object per line:
// https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion
//
//	{"model","created_at","message":{"role","content","thinking"?,"tool_calls"?:[{"id"?,"function":{"index"?,"name","arguments":{…}}}]},"done":false}
//	… {"model","message"?,"done":true,"done_reason":"stop","prompt_eval_count","eval_count",…}
//	{"model","created_at","response","thinking"?,"done"} from /api/generate, which has no calls
//	{"error":"…"} in mid-stream
//	{"role":"tool","tool_name","content"} is a result
//
// Calls are whole. There are no message ids, the calls of older versions have no
// id, and the index may be 0 for all of them.
package ollama

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format ollama.
func Format() wire.Format {
	return wire.Format{
		Name: "ollama", Shape: "openai",
		Keys:   []string{"done", "tool_name"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
		FindSlots: wire.Slots{
			wire.Unread:   {"model", "created_at"},
			wire.TextSlot: {"message.content", "message.thinking", "response", "thinking"},
		}.Of(),
	}
}

func claims(f wire.Frame) wire.Claim {
	var message, response, done, failure, role, tool, other jsonscan.Value
	f.Read(
		message.From("message"), response.From("response"), done.From("done"), failure.From("error"), role.From("role"),
		tool.From("tool_name"), other.From("choices"), other.From("type"), other.From("object"),
	)
	switch {
	case other.Raw != "":
		return wire.No
	case isBoolean(done) && (message.IsObject() || response.IsString()):
		return wire.Surely
	case role.Str == "tool" && tool.IsString():
		return wire.Surely
	case isBoolean(done), failure.Present():
		return wire.IfKnown
	}
	return wire.No
}

func isBoolean(v jsonscan.Value) bool {
	return v.Kind == jsonscan.True || v.Kind == jsonscan.False && v.Raw != ""
}

type decoder struct {
	Begun bool // a message has begun and not ended
}

func (d *decoder) Fields(f *stored.Fields) { f.Flag("b", &d.Begun) }

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var message, response, done, reason, failure, role, other jsonscan.Value
	w.ReadFrame("the line", f,
		message.From("message"), response.From("response"), done.From("done"), reason.From("done_reason"),
		failure.From("error"), role.From("role"), other.From("model"), other.From("created_at"),
		other.From("tool_name"), other.From("tool_call_id"), other.From("content"),
	)
	switch {
	case failure.Present():
		w.FailRun("", w.FailureText(failure))
		d.Begun = false
		return nil
	case role.Str == "tool":
		return w.OllamaResult(f.JSON)
	case message.Present() && !message.IsObject():
		return wire.WrongType("message", message, "an object")
	}
	if response.IsString() {
		message = f.JSON
	}
	problem := d.message(w, message)
	if done.Kind == jsonscan.True {
		d.finish(w, w.Text(reason), f.JSON)
	}
	return problem
}

// Fill returns false for a text that begins its message.
func (d *decoder) Fill(*wire.Writer, uint8, *chunks.Chunk) bool { return d.Begun }

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
	w.EmitWhole(c)
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
