// Command golang runs jobs of the test with the Go SDKs, as sdks.mjs does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

type job struct {
	Job, Client, Base, Session, Mode, Prompt string
}

var schema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}

func main() {
	var mu sync.Mutex
	var jobs sync.WaitGroup
	out := json.NewEncoder(os.Stdout)
	for d := json.NewDecoder(bufio.NewReader(os.Stdin)); ; {
		var j job
		if err := d.Decode(&j); err != nil {
			break
		}
		jobs.Go(func() {
			list, err := run(context.Background(), &j)
			state := map[string]any{"ok": list}
			if err != nil {
				state["error"] = strings.ReplaceAll(short(err), j.Base, "BASE")
			}
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(map[string]any{"job": j.Job, "state": state})
		})
	}
	jobs.Wait()
}

// short returns an error without addresses.
func short(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "unexpected EOF"
	}
	return err.Error()
}

func run(ctx context.Context, j *job) (list []string, err error) {
	switch j.Client {
	case "go_openai_chat":
		return chat(ctx, j)
	case "go_openai_responses":
		return response(ctx, j)
	}
	return message(ctx, j)
}

func openaiClient(j *job) openai.Client {
	options := []openaioption.RequestOption{openaioption.WithAPIKey("sk-fake"), openaioption.WithBaseURL(j.Base + "/v1"), openaioption.WithMaxRetries(1)}
	if j.Session != "" {
		options = append(options, openaioption.WithHeader("Streamer-Session", j.Session))
	}
	return openai.NewClient(options...)
}

// stream is a stream of an SDK.
type stream[T any] interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}

func all[T interface{ RawJSON() string }](j *job, s stream[T]) (list []string, err error) {
	defer s.Close()
	for s.Next() {
		text := s.Current().RawJSON()
		list = append(list, text)
		if j.Mode == "leave" && strings.Contains(text, "weather") {
			return list, nil
		}
	}
	return list, s.Err()
}

func chat(ctx context.Context, j *job) ([]string, error) {
	c := openaiClient(j)
	p := openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(j.Prompt)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "weather", Parameters: schema})},
	}
	if j.Mode == "whole" {
		r, err := c.Chat.Completions.New(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.RawJSON()}, nil
	}
	return all(j, c.Chat.Completions.NewStreaming(ctx, p))
}

func response(ctx context.Context, j *job) ([]string, error) {
	c := openaiClient(j)
	p := responses.ResponseNewParams{
		Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(j.Prompt)},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: schema}}},
	}
	if j.Mode == "whole" {
		r, err := c.Responses.New(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.RawJSON()}, nil
	}
	return all(j, c.Responses.NewStreaming(ctx, p))
}

func message(ctx context.Context, j *job) ([]string, error) {
	options := []anthropicoption.RequestOption{anthropicoption.WithAPIKey("sk-fake"), anthropicoption.WithBaseURL(j.Base), anthropicoption.WithMaxRetries(1)}
	if j.Session != "" {
		options = append(options, anthropicoption.WithHeader("Streamer-Session", j.Session))
	}
	c := anthropic.NewClient(options...)
	p := anthropic.MessageNewParams{
		Model: "m", MaxTokens: 64, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(j.Prompt))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"]}}}},
	}
	if j.Mode == "whole" {
		r, err := c.Messages.New(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.RawJSON()}, nil
	}
	return all(j, c.Messages.NewStreaming(ctx, p))
}
