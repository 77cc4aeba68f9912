// Package gemini reads the streams of Google's models.
//
// Format reads streamGenerateContent of the Gemini API and of Vertex AI:
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
//
//	{"candidates":[{"content":{"role":"model","parts":[
//	  {"text","thought"?} | {"functionCall":{"id"?,"name","args":{…}}} | {"functionResponse":{"id"?,"name","response":{…}}}
//	 ]},"finishReason"?,"index"?}],"usageMetadata"?,"responseId"?,"promptFeedback"?}
//	{"error":{"code":503,"message","status":"UNAVAILABLE"}}
//
// A response with the finish reason CONTINUATION is continued by the next one, under an id
// of its own: both are one message.
//
// Code Assist sends it as {"response":{…},"traceId"?}. Each member may also be
// spelled with underscores, as the Python SDK writes it. Results are in a content
// of the client, {"role":"user","parts":[{"functionResponse":…}]}.
//
// Calls are whole and mostly have no id. Parallel calls with the same name differ
// only in their order. With streamFunctionCallArguments
// (https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc)
// one call at a time comes in pieces:
//
//	{"functionCall":{"name","willContinue":true}}
//	→ {"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"Bos","willContinue":true}],"willContinue":true}} …
//	→ {"functionCall":{}}, which may be missing
//
// Interactions reads the Interactions API.
package gemini

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format gemini.
func Format() wire.Format {
	return wire.Format{
		Name: "gemini", Shape: "openai",
		Keys:      []string{"candidates", "usageMetadata", "promptFeedback", "prompt_feedback", "parts", "error", "response"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

func claims(f wire.Frame) wire.Claim {
	known, typed := wire.No, false
	var failure jsonscan.Value
	for m := response(f).Members(); m.Next(); {
		switch m.Key {
		case "candidates":
			if m.Value.IsArray() {
				return wire.Surely
			}
		case "usageMetadata", "promptFeedback", "prompt_feedback":
			if m.Value.IsObject() {
				known = wire.Surely
			}
		case "serverContent", "toolCall", "setupComplete", "toolCallCancellation", "sessionResumptionUpdate", "goAway", "invocationId", "invocation_id":
			return wire.No // of the Live API, or of the Agent Development Kit
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
			known = max(known, wire.IfKnown)
		}
	}
	if failure.Present() && !typed && known != wire.Surely {
		return claimsGoogleError(failure)
	}
	return known
}

// claimsGoogleError claims an error: https://cloud.google.com/apis/design/errors
func claimsGoogleError(v jsonscan.Value) wire.Claim {
	var code, status jsonscan.Value
	v.Read(code.From("code"), status.From("status"))
	return wire.SurelyIf(code.Kind == jsonscan.Number && status.Str != "" && status.Str == strings.ToUpper(status.Str), wire.IfKnown)
}

// response returns the frame of a response. Code Assist sends it inside an object.
func response(f wire.Frame) wire.Frame {
	if f.JSON.FirstKey() != "response" {
		return f
	}
	if m := f.Members(); m.Next() && m.Value.IsObject() {
		for in := m.Value.Members(); in.Next(); {
			switch in.Key {
			case "candidates", "usageMetadata", "promptFeedback":
				return wire.Frame{JSON: m.Value}
			}
		}
	}
	return f
}

type decoder struct {
	Message string // the last response id
	Begun   bool   // the start of the message was emitted
	Open    bool   // the args of a call come in pieces
	Bare    bool   // the last call came without args, which may be in the next part
	Choice  int    // of that call
	Args    Args   // of that call
	End     End    // of the message
	// Continued: the next response continues the message, although its id is another.
	// Alias is that id.
	Continued bool
	Alias     string

	discarded string // why the provider threw away a call in the frame that is being read
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Text("m", &d.Message)
	f.Flag("b", &d.Begun)
	f.Flag("o", &d.Open)
	stored.Number(f, "c", &d.Choice)
	stored.Object(f, "a", &d.Args, (*Args).fields)
	stored.Object(f, "e", &d.End, (*End).fields)
	f.Flag("n", &d.Bare)
	f.Flag("g", &d.Continued)
	f.Text("i", &d.Alias)
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var id, candidates, usage, feedback, failure, parts, other jsonscan.Value
	w.ReadFrame("the response", response(f),
		candidates.From("candidates"), usage.From("usageMetadata"), other.From("modelVersion"), id.From("responseId"),
		usage.From("usage_metadata"), other.From("model_version"), id.From("response_id"),
		feedback.From("promptFeedback"), feedback.From("prompt_feedback"), failure.From("error"), parts.From("parts"),
		other.From("automaticFunctionCallingHistory"), other.From("automatic_function_calling_history"), // repeats the calls
	)
	if failure.Present() { // of the message that it names, or of the one that began last
		w.FailRun(cmp.Or(d.messageOf(w.Text(id)), d.Message), w.FailureText(failure))
		*d = decoder{}
		return nil
	}
	if candidates.Present() && !candidates.IsArray() {
		return wire.WrongType("candidates", candidates, "an array")
	}
	if parts.IsArray() {
		d.closeCall(w, d.Message)
		d.Begun = d.Begun && d.Message != "" // the client has answered
		return w.GeminiResults(parts)
	}
	return d.response(w, w.Text(id), candidates, usage, feedback)
}

// messageOf returns the id of the message of a response.
func (d *decoder) messageOf(id string) string {
	if id != "" && id == d.Alias {
		return d.Message
	}
	return id
}

func (d *decoder) response(w *wire.Writer, id string, candidates, usage, feedback jsonscan.Value) (first *wire.Problem) {
	content := false
	if d.Continued || id == "" {
		some := candidates.Elements()
		content = some.Next()
	}
	if d.Continued && content {
		d.Continued, d.Alias = false, wire.Keep(id)
	}
	of := wire.Choice{Message: d.messageOf(id)}
	tokens := readTokens(usage)
	if id == "" && content {
		of.Message = d.unnamed(tokens.prompt)
	}
	for e := candidates.Elements(); e.Next(); {
		first = cmp.Or(first, d.candidate(w, of, e.Value))
	}
	d.End.Prompt = tokens.prompt
	reason := d.blockReason(w, feedback)
	if reason != "" {
		d.begin(w, of)
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: of.Message, Reason: reason, Truncated: true})
	}
	if tokens.counted {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: of.Message, Usage: usage.Raw})
	}
	switch {
	case reason != "":
		w.FailRun(of.Message, "the prompt was blocked: "+reason)
		*d = decoder{}
	case d.discarded != "":
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: of.Message})
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: d.discarded})
		*d = decoder{}
	}
	return first
}
