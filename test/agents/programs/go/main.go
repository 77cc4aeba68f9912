// Command program runs a loop of a model and a tool with a Go library, and prints the
// events of the library as json.Marshal writes them, and the results of the tool.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"
)

const (
	prompt      = "Please do the steps."
	description = "Marks a step."
)

// A call is a call of the tool, and then its result.
type call struct {
	id, name, args string
	result         string
	err            error
}

// A library sends the prompt or the results of the last calls, prints the events of the
// answer, and returns its calls.
type library interface {
	ask(ctx context.Context, results []call) ([]call, error)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	base := os.Getenv("BASE")
	var l library
	switch os.Args[1] {
	case "openai":
		l = newOpenAI(base)
	case "responses":
		l = newResponses(base)
	case "anthropic":
		l = newAnthropic(base)
	case "genai":
		l = newGenAI(ctx, base)
	case "eino":
		l = newEino(ctx, base)
	}
	if err := loop(ctx, l); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func loop(ctx context.Context, l library) error {
	var results []call
	for range 8 {
		calls, err := l.ask(ctx, results)
		if err != nil || len(calls) == 0 {
			return err
		}
		for i := range calls {
			calls[i].result, calls[i].err = mark(ctx, calls[i].args)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if calls[i].err != nil {
				calls[i].result = calls[i].err.Error()
			}
		}
		results = calls
	}
	return errors.New("too many answers")
}

func print(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}

// mark is the tool. It records in the file $RAN when it begins, returns and fails.
func mark(ctx context.Context, args string) (string, error) {
	var in struct{ Step, Act string }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	record("begin " + in.Step)
	wait := map[string]time.Duration{"slow": time.Second, "stay": time.Minute}[in.Act]
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(wait):
	}
	if in.Act == "throw" {
		record("throw " + in.Step)
		return "", errors.New("failed " + in.Step)
	}
	record("end " + in.Step)
	return "did " + in.Step, nil
}

func record(line string) {
	f, err := os.OpenFile(os.Getenv("RAN"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// toolSchema is that of the args of the tool.
func toolSchema() map[string]any {
	return map[string]any{"type": "object", "required": []string{"step", "act"}, "properties": properties()}
}

func properties() map[string]any {
	return map[string]any{"step": map[string]any{"type": "string"}, "act": map[string]any{"type": "string"}}
}
