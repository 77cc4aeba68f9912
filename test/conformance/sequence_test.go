package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// TestSequences: the events of every available stream obey the state machine: a
// start, deltas whose sum is the args, one completion, at most one result; no
// event of a call after its result; no open call of a run that failed.
func TestSequences(t *testing.T) {
	for _, file := range allStreams(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Assemble(bytes.NewReader(data), "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := client.WriteEvents(&out, a.Events); err != nil {
			t.Fatal(err)
		}
		if err := obeys(out.Bytes()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestSnapshots: a session whose snapshot is written and loaded after each input has
// the same events as one that stays in memory, for every available stream.
func TestSnapshots(t *testing.T) {
	reader := new(session.Reader)
	for _, file := range allStreams(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, got := foldLines(t, data, reader, false), foldLines(t, data, nil, true)
		if i, same := firstDifference(got, want); !same {
			t.Errorf("%s: event %d differs:\nwith snapshots %.2000q\nwithout        %.2000q", file, i, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
	}
}

// foldLines returns the bodies of the events of a stream of which each line is an
// input. Where snapshots is true, the state is stored and loaded after each of them.
// Where it is large, and outside of campaigns, this is done after some.
func foldLines(t *testing.T, data []byte, reader *session.Reader, snapshots bool) (bodies []string) {
	rules := lifecycle.DefaultRules()
	s, seq, size := new(session.State), uint64(0), uint64(0)
	fold := func(kind inputs.Kind, data []byte) {
		seq++
		in := session.Input{Rules: &rules, Reader: reader, Input: inputs.Input{Seq: seq, At: time.UnixMilli(int64(seq)), Token: "s", Kind: kind, Data: data}}
		for _, e := range session.Fold(nil, s, in) {
			body, err := e.Body()
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, string(body))
		}
		if !snapshots || (seq+uint64(len(data)))%(snapshotEvery()+size>>14) > 0 {
			return // a large state takes long to load, and changes little
		}
		stored, err := s.Marshal()
		size = uint64(len(stored))
		if err == nil {
			s, err = session.Load(stored)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for line := range bytes.Lines(data) {
		fold(inputs.Delta, line)
	}
	fold(inputs.Clock, []byte(`{"kind":"flush"}`))
	fold(inputs.End, []byte(`{"reason":"cancelled"}`))
	return bodies
}

// firstDifference returns the position of the first difference of two lists, and
// reports whether they are the same.
func firstDifference(a, b []string) (at int, same bool) {
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at, at == len(a) && at == len(b)
}

// allStreams returns the streams in the repository and the recorded streams that
// are available.
func allStreams(t *testing.T) (files []string) {
	for _, pattern := range []string{
		filepath.Join(decoders, "*", "*.jsonl"),
		testkit.Shared("formats", "corpus*", "*", "*.*"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".json") })
	if len(files) < 70 {
		t.Fatalf("only %d streams", len(files))
	}
	return files
}

// callState is what the events so far state about a call.
type callState struct {
	run, args          string
	complete, terminal int
}

// obeys returns an error if a log of events violates the state machine.
func obeys(log []byte) error {
	calls := map[string]*callState{}
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
			calls[e.Call] = &callState{run: e.Run}
			continue
		}
		if e.Call == "" || e.Type == events.ToolCallLateResult || e.Type == events.ToolCallParent {
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

// take applies an event. It returns an error if the state forbids the event.
func (c *callState) take(e *events.Event) error {
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

// leaves checks the open calls at the end of a run.
func leaves(e *events.Event, calls map[string]*callState) error {
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

// snapshotEvery returns the number of inputs from a snapshot of a small state to the next.
func snapshotEvery() uint64 {
	return uint64(testkit.Of(5, 1))
}
