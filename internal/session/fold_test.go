package session

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

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// log is the inputs of a session in their order.
type log []Input

func (l *log) add(kind inputs.Kind, at int, data string) {
	rules := lifecycle.DefaultRules()
	*l = append(*l, Input{Rules: &rules, Input: inputs.Input{
		Seq: uint64(len(*l) + 1), At: time.UnixMilli(int64(at)), Token: "s", Kind: kind, Data: []byte(data),
	}})
}

// lines returns the log of a recorded stream, with an input every 20 ms.
func lines(t testing.TB, file string) log {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var l log
	at := 0
	for line := range bytes.Lines(data) {
		at += 20
		l.add(inputs.Delta, at, string(line))
	}
	return l
}

func fold(l log) []string {
	var s State
	var out []events.Event
	for _, in := range l {
		out = Fold(out, &s, in)
	}
	return bodies(out)
}

func bodies(out []events.Event) []string {
	b := make([]string, len(out))
	for i := range out {
		body, err := out[i].Body()
		if err != nil {
			panic(err)
		}
		b[i] = out[i].Subject("s") + " " + string(body)
	}
	return b
}

// foldResumed folds a log and stores and loads the state after each input, and where
// the state is large, after some.
func foldResumed(t testing.TB, l log) []string {
	s, size := new(State), 0
	var out []events.Event
	for i, in := range l {
		out = Fold(out, s, in)
		if i%(1+size>>14) > 0 {
			continue // a large state takes long to load, and changes little
		}
		data, err := s.Marshal()
		size = len(data)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = Load(data); err != nil {
			t.Fatal(err)
		}
	}
	return bodies(out)
}

// TestResume checks that a session whose state is stored and loaded after each
// input has the same events as one that is folded at once, with a Reader that has
// read other sessions.
func TestResume(t *testing.T) {
	reader := new(Reader)
	for i, file := range allStreams(t) {
		if i%stride > 0 {
			continue
		}
		l := lines(t, file)
		at := len(l) * 20
		l.add(inputs.Result, at+10, `{"tool_call_id":"call_a","content":"ok"}`)
		l.add(inputs.Clock, at+300, `{"kind":"flush"}`)
		l.add(inputs.Interrupt, at+400, `{"reason":"user"}`)
		got := foldResumed(t, l)
		for i := range l {
			l[i].Reader = reader
		}
		if want := fold(l); !slices.Equal(got, want) {
			t.Errorf("%s: resumed:\n%s\nfolded at once:\n%s", file, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// allStreams returns the streams of every format and the quirk streams.
func allStreams(t testing.TB) (files []string) {
	for _, kind := range []string{"*.jsonl", "*.txt"} {
		found, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "*", kind))
		if err != nil || len(found) == 0 {
			t.Fatal("no streams", err)
		}
		files = append(files, found...)
	}
	return files
}

// streams returns the quirk streams.
func streams(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "quirks", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no quirk streams", err)
	}
	return files
}

// TestEverythingEnds checks that the end of a run closes every call that started
// exactly once, wherever the stream is cut.
func TestEverythingEnds(t *testing.T) {
	for i, file := range streams(t) {
		if i%stride > 0 {
			continue
		}
		whole := lines(t, file)
		for n := 0; n < len(whole); n += 1 + len(whole)/40 {
			l := slices.Clone(whole[:n+1])
			l.add(inputs.End, 100_000, `{"reason":"cancelled"}`)
			_, out := foldAll(l)
			if err := eachClosedOnce(out); err != nil {
				t.Errorf("%s cut after %d: %v", file, n+1, err)
			}
		}
	}
}

// eachClosedOnce returns an error where a call that started does not have exactly
// one result, or where the message does not follow a synthetic result.
func eachClosedOnce(out []events.Event) error {
	started, ended := map[string]int{}, map[string]int{}
	for i := range out {
		switch e := &out[i]; e.Type {
		case events.ToolCallStart:
			started[e.Call]++
		case events.ToolCallResult:
			ended[e.Call]++
			if next := i + 1; e.Synthetic && (next >= len(out) || out[next].Type != events.Synthetic || out[next].Call != e.Call) {
				return fmt.Errorf("no synthetic message after the result of %s", e.Call)
			}
		}
	}
	for call, n := range started {
		if n != 1 || ended[call] != 1 {
			return fmt.Errorf("call %s: %d starts, %d results", call, n, ended[call])
		}
	}
	return nil
}

// TestRejected checks that bad input is reported and does not stop the session.
func TestRejected(t *testing.T) {
	for _, c := range []struct {
		name, data string
		code       events.Code
	}{
		{"not JSON", `{"choices":[}`, events.BadJSON},
		{"unknown format", `{"hello":"world"}`, events.BadFormat},
		{"invalid UTF-8", "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}", events.BadUTF8},
		{"nested", strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), events.BadJSON},
		{"a word", `hello`, events.BadJSON},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s State
			out := Fold(nil, &s, Input{Input: inputs.Input{Seq: 1, At: time.UnixMilli(1), Token: "s", Kind: inputs.Delta, Data: []byte(c.data)}})
			if len(out) != 1 || out[0].Type != events.Rejected || out[0].Input != 1 {
				t.Errorf("%s: events %v", c.name, bodies(out))
				return
			}
			if got := out[0].Reason.Code; got != c.code {
				t.Errorf("%s: code %s (%s), want %s", c.name, got, out[0].Reason.Text, c.code)
			}
			out = Fold(nil, &s, Input{Input: inputs.Input{
				Seq: 2, At: time.UnixMilli(2), Token: "s", Kind: inputs.Delta,
				Data: []byte(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"}}]}`),
			}})
			if len(out) != 3 || out[2].Content != "hi" {
				t.Errorf("%s: the session does not continue: %v", c.name, bodies(out))
			}
		})
	}
}

// TestFreeTextOfUnknownCall checks the input of a custom tool whose item never
// came: the kind of the call is unknown, and its args are no JSON.
func TestFreeTextOfUnknownCall(t *testing.T) {
	var l log
	l.add(inputs.Delta, 1, `{"type":"response.created","response":{"id":"r"}}`)
	l.add(inputs.Delta, 2, `{"type":"response.custom_tool_call_input.done","item_id":"x","output_index":0,"input":"ls -l"}`)
	l.add(inputs.Delta, 3, `{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`)
	all := strings.Join(fold(l), "\n")
	if !strings.Contains(all, `"args_text":"ls -l","args_valid":false`) {
		t.Errorf("events are\n%s", all)
	}
}

// TestLarge checks that a value above 64 KiB becomes a blob.
func TestLarge(t *testing.T) {
	args := `{"x":"` + strings.Repeat("a", 200_000) + `"}`
	quoted, _ := json.Marshal(args)
	var l log
	l.add(inputs.Delta, 1, `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":`+string(quoted)+`}}]},"finish_reason":"tool_calls"}]}`)
	l.add(inputs.Result, 2, `{"tool_call_id":"c","content":`+string(quoted)+`}`)
	var s State
	var out []events.Event
	for _, in := range l {
		out = Fold(out, &s, in)
	}
	refs, sum := 0, ""
	for i := range out {
		e := &out[i]
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > 100_000 {
			t.Errorf("%s of %d bytes", e.Type, len(body))
		}
		sum += e.Args
		for _, ref := range []*events.Ref{e.ArgsRef, e.ToolResultRef} {
			if ref == nil {
				continue
			}
			refs++
			if len(e.Blobs) != 1 || e.Blobs[0].Ref.SHA256 != ref.SHA256 || len(ref.Chunks) != 4 {
				t.Errorf("%s: ref %+v, blobs %d", e.Type, ref, len(e.Blobs))
			}
		}
	}
	if refs != 2 || sum != args {
		t.Errorf("%d references, %d bytes of args deltas, want 2 and %d", refs, len(sum), len(args))
	}
}

// TestHalvesInNames checks that half a surrogate pair in an id or a name is
// replaced at once, so that the call of a resumed session has the same id.
func TestHalvesInNames(t *testing.T) {
	var l log
	l.add(inputs.Delta, 1, `{"id":"m\ud83d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c\ud83d","function":{"name":"f\ude00","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	l.add(inputs.Result, 2, `{"tool_call_id":"c\ud83d","content":"ok"}`)
	want, got := fold(l), foldResumed(t, l)
	if !slices.Equal(got, want) {
		t.Errorf("resumed:\n%s\nfolded at once:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(want[len(want)-1], `"status":"completed"`) || !strings.Contains(want[2], "\"id\":\"c\ufffd\"") {
		t.Errorf("events are %q", want)
	}
}
