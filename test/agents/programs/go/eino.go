package main

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

type einoLibrary struct {
	model    model.ToolCallingChatModel
	messages []*schema.Message
}

func newEino(ctx context.Context, base string) library {
	m, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{BaseURL: base + "/v1", APIKey: "k", Model: "m"})
	if err != nil {
		panic(err)
	}
	text := &schema.ParameterInfo{Type: schema.String, Required: true}
	with, err := m.WithTools([]*schema.ToolInfo{{
		Name: "mark", Desc: description,
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"step": text, "act": text}),
	}})
	if err != nil {
		panic(err)
	}
	return &einoLibrary{model: with, messages: []*schema.Message{schema.UserMessage(prompt)}}
}

func (l *einoLibrary) ask(ctx context.Context, results []call) ([]call, error) {
	for _, c := range results {
		m := schema.ToolMessage(c.result, c.id)
		print(m)
		l.messages = append(l.messages, m)
	}
	stream, err := l.model.Stream(ctx, l.messages)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var chunks []*schema.Message
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		print(m)
		chunks = append(chunks, m)
	}
	m, err := schema.ConcatMessages(chunks)
	if err != nil {
		return nil, err
	}
	l.messages = append(l.messages, m)
	var calls []call
	for _, c := range m.ToolCalls {
		if m.ResponseMeta != nil && m.ResponseMeta.FinishReason == "tool_calls" {
			calls = append(calls, call{id: c.ID, name: c.Function.Name, args: c.Function.Arguments})
		}
	}
	return calls, nil
}
