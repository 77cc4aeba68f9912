package main

import (
	"encoding/json"
)

// gemini is Google's streamGenerateContent. Its calls are whole, and need no ids.
type gemini struct{ parts []object }

func (g *gemini) begin(s *stream) {}

func (g *gemini) response(s *stream, parts []object, finish string) object {
	c := object{"index": 0}
	if parts != nil {
		c["content"] = object{"role": "model", "parts": parts}
	}
	if finish != "" {
		c["finishReason"] = finish
	}
	return object{
		"candidates": []object{c}, "modelVersion": s.model, "responseId": s.id("gemini-"),
		"usageMetadata": object{"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14},
	}
}

func (g *gemini) part(s *stream, p object) {
	g.parts = append(g.parts, p)
	s.send(g.response(s, []object{p}, ""))
}

func (g *gemini) text(s *stream, text string) {
	for _, t := range halves(text) {
		g.part(s, object{"text": t})
	}
}

func (g *gemini) call(s *stream, c modelCall, open bool) {
	if open || !json.Valid([]byte(c.Args)) {
		return // its calls are whole JSON
	}
	g.part(s, object{"functionCall": object{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Args)}})
}

func (g *gemini) end(s *stream, reason string) {
	finish := map[string]string{"length": "MAX_TOKENS"}[reason]
	if finish == "" {
		finish = "STOP"
	}
	if s.whole {
		writeJSON(s.w, g.response(s, g.parts, finish))
		return
	}
	s.send(g.response(s, []object{{"text": ""}}, finish))
}

func (*gemini) results(q request) (list []result) {
	for _, raw := range q.Contents {
		var c struct {
			Parts []struct {
				FunctionResponse *struct {
					ID       string
					Response json.RawMessage
				}
			}
		}
		_ = json.Unmarshal(raw, &c) // other parts have no results
		for _, p := range c.Parts {
			if f := p.FunctionResponse; f != nil {
				list = append(list, result{f.ID, string(f.Response)})
			}
		}
	}
	return list
}
