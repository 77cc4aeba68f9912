package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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

// OllamaMemory is what the ollama format remembers between events.
type OllamaMemory struct {
	Begun bool `json:"b,omitzero"` // a message is on its way
}

func claimsOllama(f Frame) claim {
	var message, done, failure, role, tool gjson.Result
	n := 0
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "message":
			message = m.value
		case "done":
			done = m.value
		case "error":
			failure = m.value
		case "role":
			role = m.value
		case "tool_name":
			tool = m.value
		case "choices", "type", "object":
			return no
		}
		n++
	}
	switch {
	case isObject(message) && isBoolean(done):
		return surely
	case role.Str == "tool" && tool.Type == gjson.String:
		return surely
	case isBoolean(done), failure.Type == gjson.String && n == 1:
		return ifKnown
	}
	return no
}

func isBoolean(v gjson.Result) bool {
	return v.Type == gjson.True || v.Type == gjson.False && v.Raw != ""
}

func decodeOllama(r *Reader, f Frame) *Problem {
	var message, done, reason, failure, role gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "message":
			message = m.value
		case "done":
			done = m.value
		case "done_reason":
			reason = m.value
		case "error":
			failure = m.value
		case "role":
			role = m.value
		}
	}
	mem := partOf(&r.mem.Ollama)
	switch {
	case present(failure):
		r.emit(chunks.Chunk{Kind: chunks.Failure, Text: r.failureText(failure)})
		mem.Begun = false
		return nil
	case role.Str == "tool":
		return r.ollamaResult(f.JSON)
	case present(message) && !isObject(message):
		return wrongType("message", message, "an object")
	}
	problem := r.ollamaMessage(mem, message)
	if done.Type == gjson.True {
		r.ollamaEnd(mem, r.text(reason), f.JSON)
	}
	return problem
}

func (r *Reader) ollamaMessage(mem *OllamaMemory, message gjson.Result) *Problem {
	var role, content, thinking, calls gjson.Result
	for m := members(message); m.next(); {
		switch m.key {
		case "role":
			role = m.value
		case "content":
			content = m.value
		case "thinking":
			thinking = m.value
		case "tool_calls":
			calls = m.value
		}
	}
	said, thought := r.text(content), r.text(thinking)
	if said == "" && thought == "" && !present(calls) {
		return nil // the last line repeats the shape with nothing in it
	}
	if !mem.Begun {
		mem.Begun = true
		r.emit(chunks.Chunk{Kind: chunks.Start, Role: r.text(role)})
	}
	if thought != "" {
		r.emit(chunks.Chunk{Kind: chunks.Reasoning, Text: thought})
	}
	if said != "" {
		r.emit(chunks.Chunk{Kind: chunks.Text, Text: said})
	}
	if present(calls) && !isArray(calls) {
		return wrongType("message.tool_calls", calls, "an array")
	}
	var first *Problem
	for e := elements(calls); e.next(); {
		if p := r.ollamaCall(e.value); p != nil && first == nil {
			first = p
		}
	}
	return first
}

// ollamaCall emits a whole call.
func (r *Reader) ollamaCall(call gjson.Result) *Problem {
	var id, function, name, args gjson.Result
	for m := members(call); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "function":
			function = m.value
		}
	}
	if !isObject(function) {
		return wrongType("message.tool_calls[].function", function, "an object")
	}
	c := chunks.Chunk{Kind: chunks.Fragment, ID: r.text(id), Final: true, Opens: true}
	for m := members(function); m.next(); {
		switch m.key {
		case "index":
			if present(m.value) {
				c.Index = m.value.Raw
			}
		case "name":
			name = m.value
		case "arguments":
			args = m.value
		}
	}
	if c.Name = r.text(name); c.Name == "" {
		return wrongType("message.tool_calls[].function.name", name, "a string that is not empty")
	}
	if c.Object = args.Type == gjson.JSON; c.Object {
		c.Args = r.compact(args.Raw)
	} else {
		c.Args = r.text(args)
	}
	r.emit(c)
	r.emit(chunks.Chunk{Kind: chunks.Seal, ID: c.ID, Index: c.Index})
	return nil
}

// ollamaEnd reads the last line: the reason, and the counts beside it.
func (r *Reader) ollamaEnd(mem *OllamaMemory, reason string, event gjson.Result) {
	if !mem.Begun && (reason == "load" || reason == "unload") {
		return // of a model, not of a message
	}
	if !mem.Begun {
		r.emit(chunks.Chunk{Kind: chunks.Start})
	}
	mem.Begun = false
	if reason == "" {
		reason = "stop" // older versions do not say it
	}
	r.emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: truncates(reason)})
	start := len(r.scratch)
	r.scratch = append(r.scratch, '{')
	for m := members(event); m.next(); {
		if strings.HasSuffix(m.key, "_count") || strings.HasSuffix(m.key, "_duration") {
			r.scratch = appendMember(r.scratch, start, m)
		}
	}
	r.scratch = append(r.scratch, '}')
	if usage := alias(r.scratch[start:]); usage != "{}" {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Usage: usage})
	}
	r.emit(chunks.Chunk{Kind: chunks.Ended})
}

// ollamaResult emits a result, which names its tool and, in newer versions,
// its call.
func (r *Reader) ollamaResult(message gjson.Result) *Problem {
	b := resultFields(message)
	c := chunks.Chunk{Kind: chunks.Result, ID: r.text(b.id), Name: r.text(b.tool), Status: "success"}
	if c.ID == "" && c.Name == "" {
		return &Problem{Code: BadShape, Text: "the result names no call: tool_name and tool_call_id are missing or empty"}
	}
	if b.content.Type == gjson.JSON {
		c.Content = r.compact(b.content.Raw)
	} else {
		c.Text = r.text(b.content)
	}
	r.emit(c)
	return nil
}
