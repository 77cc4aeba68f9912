package decode

import (
	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// geminiResults emits the results in the parts of a content of the client's.
func (r *Reader) geminiResults(parts gjson.Result) (first *Problem) {
	found := false
	for e := elements(parts); e.next(); {
		v := geminiResponse(e.value)
		if !isObject(v) {
			continue
		}
		found = true
		if p := r.geminiResult(v); p != nil && first == nil {
			first = p
		}
	}
	if !found {
		return &Problem{Code: BadShape, Text: "the content has no part with a functionResponse"}
	}
	return first
}

// geminiResult emits a result. Without an id it is that of the oldest open
// call of its name; one that will continue is a sign of life.
func (r *Reader) geminiResult(v gjson.Result) *Problem {
	var id, name, response, more gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "name", "toolType", "tool_type":
			name = m.value
		case "response":
			response = m.value
		case "willContinue", "will_continue":
			more = m.value
		}
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: r.text(id), Name: r.text(name), Status: "success"}
	switch {
	case c.ID == "" && c.Name == "":
		return &Problem{Code: BadShape, Text: "the functionResponse names no call: id and name are missing or empty"}
	case more.Type == gjson.True:
		if c.ID != "" {
			r.emit(chunks.Chunk{Kind: chunks.Progress, ID: c.ID})
		}
		return nil
	case present(response) && !isObject(response):
		return wrongType("functionResponse.response", response, "an object")
	}
	c.Content = "{}"
	if isObject(response) {
		c.Content = r.compact(response.Raw)
	}
	// By convention output is what a function gave, and error what went wrong.
	if present(member(response, "error")) && !present(member(response, "output")) {
		c.Status = "error"
	}
	r.emit(c)
	return nil
}
