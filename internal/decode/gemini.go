package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Gemini's streamGenerateContent, of the Gemini API and of Vertex AI:
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
//
//	{"candidates":[{"content":{"role":"model","parts":[
//	  {"text","thought"?} | {"functionCall":{"id"?,"name","args":{…}}} | {"functionResponse":{"id"?,"name","response":{…}}}
//	 ]},"finishReason"?,"index"?}],"usageMetadata"?,"responseId"?,"promptFeedback"?}
//	{"error":{"code":503,"message","status":"UNAVAILABLE"}}
//
// Code Assist has it all in {"response":{…},"traceId"?}. Each member may also be
// spelled with underscores, as the Python SDK dumps
// it. Results travel in a content of the client's,
// {"role":"user","parts":[{"functionResponse":…}]}.
//
// Calls are whole and mostly have no id, and nothing tells parallel calls of
// one name apart but their order. With streamFunctionCallArguments
// (https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc)
// one call at a time comes in pieces:
//
//	{"functionCall":{"name","willContinue":true}}
//	→ {"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"Bos","willContinue":true}],"willContinue":true}} …
//	→ {"functionCall":{}}, which may be missing

// GeminiMemory is what the gemini format remembers between events.
type GeminiMemory struct {
	Message string     `json:"m,omitzero"` // the last response id
	Begun   bool       `json:"b,omitzero"` // its beginning was told; without an id, until its finish reason
	Open    bool       `json:"o,omitzero"` // a call's args come in pieces
	Choice  int        `json:"c,omitzero"` // of that call
	Args    GeminiArgs `json:"a,omitzero"` // of that call
}

func claimsGemini(f Frame) claim {
	known, typed := no, false
	var failure gjson.Result
	for m := members(geminiBody(f.JSON)); m.next(); {
		switch m.key {
		case "candidates":
			if isArray(m.value) {
				return surely
			}
		case "usageMetadata", "promptFeedback", "prompt_feedback":
			if isObject(m.value) {
				return surely
			}
		case "error":
			failure = m.value
		case "type":
			typed = true
		case "parts":
			for e := elements(m.value); e.next(); {
				if isObject(geminiResponse(e.value)) {
					return surely
				}
			}
		case "responseId", "response_id", "modelVersion", "model_version":
			known = ifKnown
		}
	}
	if present(failure) && !typed {
		return claimsGoogleError(failure)
	}
	return known
}

// claimsGoogleError recognises https://cloud.google.com/apis/design/errors.
func claimsGoogleError(v gjson.Result) claim {
	var code, status gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "code":
			code = m.value
		case "status":
			status = m.value
		}
	}
	if code.Type == gjson.Number && code.Raw != "" && status.Str != "" && status.Str == strings.ToUpper(status.Str) {
		return surely
	}
	return ifKnown
}

func geminiResponse(part gjson.Result) (found gjson.Result) {
	for m := members(part); m.next(); {
		switch m.key {
		case "functionResponse", "function_response":
			found = m.value
		}
	}
	return found
}

// geminiBody opens what Code Assist wraps a response in.
func geminiBody(v gjson.Result) gjson.Result {
	if m := members(v); m.next() && m.key == "response" && isObject(m.value) {
		for in := members(m.value); in.next(); {
			switch in.key {
			case "candidates", "usageMetadata", "promptFeedback":
				return m.value
			}
		}
	}
	return v
}

func decodeGemini(r *Reader, f Frame) *Problem {
	var id, candidates, usage, feedback, failure, parts gjson.Result
	for m := members(geminiBody(f.JSON)); m.next(); {
		switch m.key {
		case "responseId", "response_id":
			id = m.value
		case "candidates":
			candidates = m.value
		case "usageMetadata", "usage_metadata":
			usage = m.value
		case "promptFeedback", "prompt_feedback":
			feedback = m.value
		case "error":
			failure = m.value
		case "parts":
			parts = m.value
		}
	}
	if present(failure) {
		r.geminiFailure(r.text(id), failure)
		return nil
	}
	if present(candidates) && !isArray(candidates) {
		return wrongType("candidates", candidates, "an array")
	}
	if isArray(parts) {
		return r.geminiResults(parts)
	}
	var first *Problem
	of := choice{message: r.text(id)}
	for e := elements(candidates); e.next(); {
		if p := r.geminiCandidate(of, e.value); p != nil && first == nil {
			first = p
		}
	}
	r.geminiBlocked(of, feedback)
	if isObject(usage) && countsTokens(usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: of.message, Usage: usage.Raw})
	}
	return first
}

// countsTokens tells whether usage is more than a remark on the kind of
// traffic, which comes with every event.
func countsTokens(usage gjson.Result) bool {
	for m := members(usage); m.next(); {
		if m.key == "totalTokenCount" || m.key == "total_token_count" {
			return present(m.value)
		}
	}
	return false
}

// geminiFailure ends the message that the error names or, as it mostly does
// not, the one that is on its way.
func (r *Reader) geminiFailure(id string, failure gjson.Result) {
	if id == "" {
		id = partOf(&r.mem.Gemini).Message
	}
	r.emit(chunks.Chunk{Kind: chunks.Failure, Message: id, Text: r.failureText(failure)})
	r.mem.Gemini = nil
}

// geminiBlocked reads the feedback on a prompt that gets no candidates.
func (r *Reader) geminiBlocked(of choice, feedback gjson.Result) {
	for m := members(feedback); m.next(); {
		if m.key != "blockReason" && m.key != "block_reason" {
			continue
		}
		if reason := r.text(m.value); reason != "" {
			r.geminiBegin(of)
			r.geminiFinish(of, reason)
		}
	}
}

// geminiBegin tells that a message begins, where the wire shows it: by another
// response id or, without ids, by content behind a finish reason. All other
// content goes on with the message there is, muted or not.
func (r *Reader) geminiBegin(of choice) {
	mem := partOf(&r.mem.Gemini)
	if of.message != mem.Message {
		*mem = GeminiMemory{Message: keep(of.message, keptID)}
	}
	if !mem.Begun {
		mem.Begun = true
		r.emit(chunks.Chunk{Kind: chunks.Start, Message: of.message, Choice: of.index})
	}
}

func (r *Reader) geminiCandidate(of choice, v gjson.Result) (first *Problem) {
	var content, parts, finish gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "index":
			of.index = integer(m.value)
		case "content":
			content = m.value
		case "finishReason", "finish_reason":
			finish = m.value
		}
	}
	if present(content) && !isObject(content) {
		first = wrongType("candidates[].content", content, "an object")
	}
	parts = member(content, "parts")
	if present(parts) && !isArray(parts) {
		first = wrongType("candidates[].content.parts", parts, "an array")
	}
	for e := elements(parts); e.next(); {
		if p := r.geminiPart(of, e.value); p != nil && first == nil {
			first = p
		}
	}
	if reason := r.text(finish); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
		r.geminiBegin(of)
		r.geminiFinish(of, reason)
	}
	return first
}

// geminiFinish emits the finish reason. A call that comes in pieces, whose end
// the wire sometimes leaves out, ends with it; where the model was cut off it
// stays in the middle of what it says.
func (r *Reader) geminiFinish(of choice, reason string) {
	truncated := reason != "STOP" // all others are limits, filters and malformed calls
	if mem := partOf(&r.mem.Gemini); mem.Open && mem.Choice == of.index {
		if truncated {
			mem.Open, mem.Args = false, GeminiArgs{}
		} else {
			r.geminiCloseCall(of.message)
		}
	}
	r.emit(chunks.Chunk{Kind: chunks.Finish, Message: of.message, Choice: of.index, Reason: reason, Truncated: truncated})
	if of.message == "" {
		partOf(&r.mem.Gemini).Begun = false
	}
}

func (r *Reader) geminiPart(of choice, part gjson.Result) *Problem {
	var text, thought, call, result, serverCall, serverResult gjson.Result
	for m := members(part); m.next(); {
		switch m.key {
		case "text":
			text = m.value
		case "thought":
			thought = m.value
		case "functionCall", "function_call":
			call = m.value
		case "functionResponse", "function_response":
			result = m.value
		case "toolCall", "tool_call":
			serverCall = m.value
		case "toolResponse", "tool_response":
			serverResult = m.value
		}
	}
	if s := r.text(text); s != "" {
		r.geminiBegin(of)
		c := chunks.Chunk{Kind: chunks.Text, Message: of.message, Choice: of.index, Text: s}
		if thought.Type == gjson.True {
			c.Kind = chunks.Reasoning
		}
		r.emit(c)
	}
	switch {
	case isObject(call):
		return r.geminiCall(of, call, false)
	case isObject(serverCall):
		return r.geminiCall(of, serverCall, true)
	case isObject(result):
		return r.geminiResult(result)
	case isObject(serverResult):
		return r.geminiResult(serverResult)
	case present(call):
		return wrongType("functionCall", call, "an object")
	}
	return nil
}
