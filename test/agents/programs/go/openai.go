package main

import (
	"context"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

type openaiLibrary struct {
	client   openai.Client
	messages []openai.ChatCompletionMessageParamUnion
}

func newOpenAI(base string) library {
	return &openaiLibrary{
		client:   openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("k")),
		messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
}

func (l *openaiLibrary) ask(ctx context.Context, results []call) ([]call, error) {
	for _, c := range results {
		m := openai.ToolMessage(c.result, c.id)
		print(m)
		l.messages = append(l.messages, m)
	}
	stream := l.client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model: "m", Messages: l.messages,
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "mark", Description: openai.String(description), Parameters: toolSchema(),
		})},
	})
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		print(stream.Current())
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	m := acc.Choices[0].Message
	l.messages = append(l.messages, m.ToParam())
	var calls []call
	for _, c := range m.ToolCalls {
		if acc.Choices[0].FinishReason == "tool_calls" {
			calls = append(calls, call{id: c.ID, name: c.Function.Name, args: c.Function.Arguments})
		}
	}
	return calls, nil
}

type responsesLibrary struct {
	client openai.Client
	input  responses.ResponseInputParam
}

func newResponses(base string) library {
	return &responsesLibrary{
		client: openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("k")),
		input:  responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(prompt, "user")},
	}
}

func (l *responsesLibrary) ask(ctx context.Context, results []call) ([]call, error) {
	for _, c := range results {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(c.result)
		item.OfFunctionCallOutput.CallID = openai.String(c.id)
		print(item)
		l.input = append(l.input, item)
	}
	stream := l.client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: "m", Input: responses.ResponseNewParamsInputUnion{OfInputItemList: l.input},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("mark", toolSchema(), false)},
	})
	var calls []call
	for stream.Next() {
		e := stream.Current()
		print(e)
		if e.Type == "response.output_item.done" && e.Item.Type == "function_call" {
			c := e.Item.AsFunctionCall()
			calls = append(calls, call{id: c.CallID, name: c.Name, args: c.Arguments})
			l.input = append(l.input, responses.ResponseInputItemParamOfFunctionCall(c.Arguments, c.CallID, c.Name))
		}
	}
	return calls, stream.Err()
}
