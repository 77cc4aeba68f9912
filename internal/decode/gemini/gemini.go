package gemini

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
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

// Decoder is what the gemini format remembers between events.
type Decoder struct {
	Message string     `json:"m,omitzero"` // the last response id
	Begun   bool       `json:"b,omitzero"` // its beginning was told; without an id, until its finish reason
	Open    bool       `json:"o,omitzero"` // a call's args come in pieces
	Choice  int        `json:"c,omitzero"` // of that call
	Args    GeminiArgs `json:"a,omitzero"` // of that call
}

func claims(f wire.Frame) wire.Claim {
	known, typed := wire.No, false
	var failure jsonscan.Value
	for m := geminiBody(f.JSON).Members(); m.Next(); {
		switch m.Key {
		case "candidates":
			if m.Value.IsArray() {
				return wire.Surely
			}
		case "usageMetadata", "promptFeedback", "prompt_feedback":
			if m.Value.IsObject() {
				return wire.Surely
			}
		case "error":
			failure = m.Value
		case "type":
			typed = true
		case "parts":
			for e := m.Value.Elements(); e.Next(); {
				if wire.FunctionResponse(e.Value).IsObject() {
					return wire.Surely
				}
			}
		case "responseId", "response_id", "modelVersion", "model_version":
			known = wire.IfKnown
		}
	}
	if failure.Present() && !typed {
		return claimsGoogleError(failure)
	}
	return known
}

// claimsGoogleError recognises https://cloud.google.com/apis/design/errors.
func claimsGoogleError(v jsonscan.Value) wire.Claim {
	var code, status jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "code":
			code = m.Value
		case "status":
			status = m.Value
		}
	}
	if code.Kind == jsonscan.Number && code.Raw != "" && status.Str != "" && status.Str == strings.ToUpper(status.Str) {
		return wire.Surely
	}
	return wire.IfKnown
}

// geminiBody opens what Code Assist wraps a response in.
func geminiBody(v jsonscan.Value) jsonscan.Value {
	if m := v.Members(); m.Next() && m.Key == "response" && m.Value.IsObject() {
		for in := m.Value.Members(); in.Next(); {
			switch in.Key {
			case "candidates", "usageMetadata", "promptFeedback":
				return m.Value
			}
		}
	}
	return v
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	var id, candidates, usage, feedback, failure, parts jsonscan.Value
	for m := geminiBody(f.JSON).Members(); m.Next(); {
		switch m.Key {
		case "responseId", "response_id":
			id = m.Value
		case "candidates":
			candidates = m.Value
		case "usageMetadata", "usage_metadata":
			usage = m.Value
		case "promptFeedback", "prompt_feedback":
			feedback = m.Value
		case "error":
			failure = m.Value
		case "parts":
			parts = m.Value
		}
	}
	if failure.Present() {
		r.geminiFailure(r.Text(id), failure)
		return nil
	}
	if candidates.Present() && !candidates.IsArray() {
		return wire.WrongType("candidates", candidates, "an array")
	}
	if parts.IsArray() {
		return r.GeminiResults(parts)
	}
	var first *wire.Problem
	of := wire.Choice{Message: r.Text(id)}
	for e := candidates.Elements(); e.Next(); {
		if p := r.geminiCandidate(of, e.Value); p != nil && first == nil {
			first = p
		}
	}
	r.geminiBlocked(of, feedback)
	if usage.IsObject() && countsTokens(usage) {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: of.Message, Usage: usage.Raw})
	}
	return first
}

// countsTokens tells whether usage is more than a remark on the kind of
// traffic, which comes with every event.
func countsTokens(usage jsonscan.Value) bool {
	for m := usage.Members(); m.Next(); {
		if m.Key == "totalTokenCount" || m.Key == "total_token_count" {
			return m.Value.Present()
		}
	}
	return false
}

// geminiFailure ends the message that the error names or, as it mostly does
// not, the one that is on its way.
func (r reader) geminiFailure(id string, failure jsonscan.Value) {
	if id == "" {
		id = r.d.Message
	}
	r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: id, Text: r.FailureText(failure)})
	*r.d = Decoder{}
}

// geminiBlocked reads the feedback on a prompt that gets no candidates.
func (r reader) geminiBlocked(of wire.Choice, feedback jsonscan.Value) {
	for m := feedback.Members(); m.Next(); {
		if m.Key != "blockReason" && m.Key != "block_reason" {
			continue
		}
		if reason := r.Text(m.Value); reason != "" {
			r.geminiBegin(of)
			r.geminiFinish(of, reason)
		}
	}
}

// geminiBegin tells that a message begins, where the wire shows it: by another
// response id or, without ids, by content behind a finish reason. All other
// content goes on with the message there is, muted or not.
func (r reader) geminiBegin(of wire.Choice) {
	mem := r.d
	if of.Message != mem.Message {
		*mem = Decoder{Message: wire.Keep(of.Message)}
	}
	if !mem.Begun {
		mem.Begun = true
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index})
	}
}

func (r reader) geminiCandidate(of wire.Choice, v jsonscan.Value) (first *wire.Problem) {
	var content, parts, finish jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "index":
			of.Index = m.Value.Int()
		case "content":
			content = m.Value
		case "finishReason", "finish_reason":
			finish = m.Value
		}
	}
	if content.Present() && !content.IsObject() {
		first = wire.WrongType("candidates[].content", content, "an object")
	}
	parts = content.Member("parts")
	if parts.Present() && !parts.IsArray() {
		first = wire.WrongType("candidates[].content.parts", parts, "an array")
	}
	for e := parts.Elements(); e.Next(); {
		if p := r.geminiPart(of, e.Value); p != nil && first == nil {
			first = p
		}
	}
	if reason := r.Text(finish); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
		r.geminiBegin(of)
		r.geminiFinish(of, reason)
	}
	return first
}

// geminiFinish emits the finish reason. A call that comes in pieces, whose end
// the wire sometimes leaves out, ends with it; where the model was cut off it
// stays in the middle of what it says.
func (r reader) geminiFinish(of wire.Choice, reason string) {
	truncated := reason != "STOP" // all others are limits, filters and malformed calls
	if mem := r.d; mem.Open && mem.Choice == of.Index {
		if truncated {
			mem.Open, mem.Args = false, GeminiArgs{}
		} else {
			r.geminiCloseCall(of.Message)
		}
	}
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: of.Message, Choice: of.Index, Reason: reason, Truncated: truncated})
	if of.Message == "" {
		r.d.Begun = false
	}
}

func (r reader) geminiPart(of wire.Choice, part jsonscan.Value) *wire.Problem {
	var text, thought, call, result, serverCall, serverResult jsonscan.Value
	for m := part.Members(); m.Next(); {
		switch m.Key {
		case "text":
			text = m.Value
		case "thought":
			thought = m.Value
		case "functionCall", "function_call":
			call = m.Value
		case "functionResponse", "function_response":
			result = m.Value
		case "toolCall", "tool_call":
			serverCall = m.Value
		case "toolResponse", "tool_response":
			serverResult = m.Value
		}
	}
	if s := r.Text(text); s != "" {
		r.geminiBegin(of)
		c := chunks.Chunk{Kind: chunks.Text, Message: of.Message, Choice: of.Index, Text: s}
		if thought.Kind == jsonscan.True {
			c.Kind = chunks.Reasoning
		}
		r.Emit(c)
	}
	switch {
	case call.IsObject():
		return r.geminiCall(of, call, false)
	case serverCall.IsObject():
		return r.geminiCall(of, serverCall, true)
	case result.IsObject():
		return r.GeminiResult(result)
	case serverResult.IsObject():
		return r.GeminiResult(serverResult)
	case call.Present():
		return wire.WrongType("functionCall", call, "an object")
	}
	return nil
}
