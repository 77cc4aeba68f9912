package ollama

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Ollama's /api/chat, one JSON object per line:
// https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion
//
//	{"model","created_at","message":{"role","content","thinking"?,"tool_calls"?:[{"id"?,"function":{"index"?,"name","arguments":{…}}}]},"done":false}
//	… {"model","message"?,"done":true,"done_reason":"stop","prompt_eval_count","eval_count",…}
//	{"error":"…"} in the middle
//	{"role":"tool","tool_name","content"} is a result
//
// Calls are whole. There are no message ids, calls of older versions have no
// id, and the index may be 0 for all of them.

// Decoder is what the ollama format remembers between events.
type Decoder struct {
	Begun bool `json:"b,omitzero"` // a message is on its way
}

func claims(f wire.Frame) wire.Claim {
	var message, done, failure, role, tool jsonscan.Value
	n := 0
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "message":
			message = m.Value
		case "done":
			done = m.Value
		case "error":
			failure = m.Value
		case "role":
			role = m.Value
		case "tool_name":
			tool = m.Value
		case "choices", "type", "object":
			return wire.No
		}
		n++
	}
	switch {
	case message.IsObject() && isBoolean(done):
		return wire.Surely
	case role.Str == "tool" && tool.IsString():
		return wire.Surely
	case isBoolean(done), failure.IsString() && n == 1:
		return wire.IfKnown
	}
	return wire.No
}

func isBoolean(v jsonscan.Value) bool {
	return v.Kind == jsonscan.True || v.Kind == jsonscan.False && v.Raw != ""
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	var message, done, reason, failure, role jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "message":
			message = m.Value
		case "done":
			done = m.Value
		case "done_reason":
			reason = m.Value
		case "error":
			failure = m.Value
		case "role":
			role = m.Value
		}
	}
	mem := r.d
	switch {
	case failure.Present():
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Text: r.FailureText(failure)})
		mem.Begun = false
		return nil
	case role.Str == "tool":
		return r.OllamaResult(f.JSON)
	case message.Present() && !message.IsObject():
		return wire.WrongType("message", message, "an object")
	}
	problem := r.ollamaMessage(mem, message)
	if done.Kind == jsonscan.True {
		r.ollamaEnd(mem, r.Text(reason), f.JSON)
	}
	return problem
}

func (r reader) ollamaMessage(mem *Decoder, message jsonscan.Value) *wire.Problem {
	var role, content, thinking, calls jsonscan.Value
	for m := message.Members(); m.Next(); {
		switch m.Key {
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		case "thinking":
			thinking = m.Value
		case "tool_calls":
			calls = m.Value
		}
	}
	said, thought := r.Text(content), r.Text(thinking)
	if said == "" && thought == "" && !calls.Present() {
		return nil // the last line repeats the shape with nothing in it
	}
	if !mem.Begun {
		mem.Begun = true
		r.Emit(chunks.Chunk{Kind: chunks.Start, Role: r.Text(role)})
	}
	if thought != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Reasoning, Text: thought})
	}
	if said != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Text, Text: said})
	}
	if calls.Present() && !calls.IsArray() {
		return wire.WrongType("message.tool_calls", calls, "an array")
	}
	var first *wire.Problem
	for e := calls.Elements(); e.Next(); {
		if p := r.ollamaCall(e.Value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// ollamaCall emits a whole call.
func (r reader) ollamaCall(call jsonscan.Value) *wire.Problem {
	var id, function, name, args jsonscan.Value
	for m := call.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "function":
			function = m.Value
		}
	}
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

// ollamaEnd reads the last line: the reason, and the counts beside it.
func (r reader) ollamaEnd(mem *Decoder, reason string, event jsonscan.Value) {
	if !mem.Begun && (reason == "load" || reason == "unload") {
		return // of a model, not of a message
	}
	if !mem.Begun {
		r.Emit(chunks.Chunk{Kind: chunks.Start})
	}
	mem.Begun = false
	if reason == "" {
		reason = "stop" // older versions do not say it
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
