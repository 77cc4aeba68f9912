package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"streamer/internal/events"
)

// TestSequences: the events of every stream at hand obey the state machine: a
// start, deltas that add up to the args, one completion, at most one result;
// nothing of a call after its result; a run that failed leaves nothing open.
func TestSequences(t *testing.T) {
	for _, file := range allStreams(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out, complaints bytes.Buffer
		run(context.Background(), stdio{bytes.NewReader(data), &out, &complaints}, []string{"assemble", "--events"})
		if err := obeys(out.Bytes()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// allStreams gives the streams the project holds and, where they are at hand,
// the recorded ones.
func allStreams(t *testing.T) (files []string) {
	decoders := filepath.Join("..", "..", "internal", "decode", "testdata")
	for _, pattern := range []string{
		filepath.Join(decoders, "*", "*.jsonl"),
		filepath.Join(corpusDir(), "*", "*.jsonl"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 70 {
		t.Fatalf("only %d streams", len(files))
	}
	return files
}

// told is what the events say of a call so far.
type told struct {
	run, args          string
	complete, terminal int
}

func obeys(log []byte) error {
	calls := map[string]*told{}
	for line := range bytes.Lines(log) {
		var e events.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		switch e.Type {
		case events.RunFinished:
			if err := leaves(&e, calls); err != nil {
				return err
			}
			continue
		case events.ToolCallStart:
			if calls[e.Call] != nil {
				return fmt.Errorf("call %s starts twice", e.Call)
			}
			calls[e.Call] = &told{run: e.Run}
			continue
		}
		if e.Call == "" || e.Type == events.ToolCallLateResult {
			continue
		}
		c := calls[e.Call]
		if c == nil {
			return fmt.Errorf("%s of call %s before its start", e.Type, e.Call)
		}
		if err := c.take(&e); err != nil {
			return fmt.Errorf("call %s: %w", e.Call, err)
		}
	}
	return nil
}

func (c *told) take(e *events.Event) error {
	if c.terminal > 0 {
		return fmt.Errorf("%s after its result", e.Type)
	}
	switch e.Type {
	case events.ToolCallArgsDelta:
		if e.Offset.Bytes() != len(c.args) || c.complete > 0 {
			return fmt.Errorf("a delta at %d behind %d bytes, complete %d", e.Offset.Bytes(), len(c.args), c.complete)
		}
		c.args += e.Args
	case events.ToolCallArgsComplete:
		if c.complete++; c.complete > 1 {
			return fmt.Errorf("complete twice")
		}
		if e.ArgsText != nil && c.args != "" && c.args != *e.ArgsText {
			return fmt.Errorf("deltas are %q, args %q", c.args, *e.ArgsText)
		}
	case events.ToolCallResult:
		c.terminal++
	}
	return nil
}

// leaves checks what a run says it leaves open.
func leaves(e *events.Event, calls map[string]*told) error {
	open, own := 0, 0
	for _, c := range calls {
		if c.terminal > 0 {
			continue
		}
		open++
		if c.run == e.Run {
			own++
		}
	}
	if open != len(e.Pending) {
		return fmt.Errorf("run %s leaves %d calls open and names %v", e.Run, open, e.Pending)
	}
	if own > 0 && (e.Status == events.Error || e.Status == events.Cancelled) {
		return fmt.Errorf("run %s ends as %s with %d of its calls open", e.Run, e.Status, own)
	}
	return nil
}
