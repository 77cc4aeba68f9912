package wire

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// GeminiResults emits the results in the parts of a content of the client.
func (w *Writer) GeminiResults(parts jsonscan.Value) (first *Problem) {
	found := false
	for e := parts.Elements(); e.Next(); {
		v := FunctionResponse(e.Value)
		if !v.IsObject() {
			for m := e.Value.Members(); m.Next(); {
				w.UnknownGeminiPart(m.Key, m.Value)
			}
			continue
		}
		found = true
		first = cmp.Or(first, w.GeminiResult(v))
	}
	if !found {
		return WrongShape("the content has no part with a functionResponse")
	}
	return first
}

// UnknownGeminiPart reads the content of a part whose key Gemini does not have. A call
// and a result may have no more than their name.
func (w *Writer) UnknownGeminiPart(key string, v jsonscan.Value) {
	if v.Member("name").IsString() {
		w.UnknownCall("part", key, "name")
	}
	w.UnknownMember("the part", key, v)
}

// GeminiResult emits a result. A result without an id belongs to the oldest open call
// with its name. A result that will continue is progress.
func (w *Writer) GeminiResult(v jsonscan.Value) *Problem {
	var id, name, response, more jsonscan.Value
	v.Read(
		id.From("id"), name.From("name"), name.From("toolType"), name.From("tool_type"),
		response.From("response"), more.From("willContinue"), more.From("will_continue"),
	)
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(id), Name: w.Text(name), Status: "success"}
	switch {
	case c.ID == "" && c.Name == "":
		return WrongShape("the functionResponse names no call: id and name are missing or empty")
	case more.Kind == jsonscan.True:
		if c.ID != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: c.ID})
		}
		return nil
	case response.Present() && !response.IsObject():
		return WrongType("functionResponse.response", response, "an object")
	}
	c.Content = "{}"
	if response.IsObject() {
		c.Content = w.Compact(response.Raw)
	}
	// By convention output is the return value of the function, and error its error.
	if response.Member("error").Present() && !response.Member("output").Present() {
		c.Status = "error"
	}
	w.Emit(c)
	return nil
}

// FunctionResponse returns the functionResponse of a Gemini part.
func FunctionResponse(part jsonscan.Value) (found jsonscan.Value) {
	part.Read(found.From("functionResponse"), found.From("function_response"))
	return found
}
