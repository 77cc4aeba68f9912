package main

import (
	"context"
	"encoding/json"

	"google.golang.org/genai"
)

type genaiLibrary struct {
	client   *genai.Client
	contents []*genai.Content
}

func newGenAI(ctx context.Context, base string) library {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: base}})
	if err != nil {
		panic(err)
	}
	return &genaiLibrary{client: client, contents: genai.Text(prompt)}
}

func (l *genaiLibrary) ask(ctx context.Context, results []call) ([]call, error) {
	var answers []*genai.Part
	for _, c := range results {
		response := map[string]any{"output": c.result}
		if c.err != nil {
			response = map[string]any{"error": c.result}
		}
		p := genai.NewPartFromFunctionResponse(c.name, response)
		p.FunctionResponse.ID = c.id
		answers = append(answers, p)
	}
	if len(answers) > 0 {
		c := &genai.Content{Role: "user", Parts: answers}
		print(c)
		l.contents = append(l.contents, c)
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "mark", Description: description, ParametersJsonSchema: toolSchema(),
	}}}}}
	var calls []call
	answer := &genai.Content{Role: "model"}
	for chunk, err := range l.client.Models.GenerateContentStream(ctx, "gemini-2.5-pro", l.contents, config) {
		if err != nil {
			return nil, err
		}
		print(chunk)
		for _, f := range chunk.FunctionCalls() {
			args, _ := json.Marshal(f.Args)
			calls = append(calls, call{id: f.ID, name: f.Name, args: string(args)})
			answer.Parts = append(answer.Parts, &genai.Part{FunctionCall: f})
		}
	}
	l.contents = append(l.contents, answer)
	return calls, nil
}
