package main

import (
	"context"
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

type anthropicLibrary struct {
	client   anthropic.Client
	messages []anthropic.MessageParam
}

func newAnthropic(base string) library {
	return &anthropicLibrary{
		client:   anthropic.NewClient(option.WithBaseURL(base), option.WithAPIKey("k")),
		messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	}
}

func (l *anthropicLibrary) ask(ctx context.Context, results []call) ([]call, error) {
	var blocks []anthropic.ContentBlockParamUnion
	for _, c := range results {
		blocks = append(blocks, anthropic.NewToolResultBlock(c.id, c.result, c.err != nil))
	}
	if len(blocks) > 0 {
		m := anthropic.NewUserMessage(blocks...)
		print(m)
		l.messages = append(l.messages, m)
	}
	tool := anthropic.ToolParam{Name: "mark", Description: anthropic.String(description), InputSchema: anthropic.ToolInputSchemaParam{Properties: properties()}}
	stream := l.client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: "m", MaxTokens: 100, Messages: l.messages, Tools: []anthropic.ToolUnionParam{{OfTool: &tool}},
	})
	var m anthropic.Message
	var bad error // the library does not collect args that are no JSON
	for stream.Next() {
		print(stream.Current())
		if err := m.Accumulate(stream.Current()); err != nil {
			bad = err
		}
	}
	if err := stream.Err(); err != nil || bad != nil {
		return nil, cmpErr(err, bad)
	}
	l.messages = append(l.messages, m.ToParam())
	var calls []call
	for _, b := range m.Content {
		if b.Type == "tool_use" && m.StopReason == "tool_use" {
			args, _ := json.Marshal(b.Input)
			calls = append(calls, call{id: b.ID, name: b.Name, args: string(args)})
		}
	}
	return calls, nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
