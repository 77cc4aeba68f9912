package conformance

import (
	"bytes"
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
	"streamer/internal/session"
	"streamer/test/testkit"
)

// TestEnds ends each stream after each byte, by its end, by a cancellation, and by the
// deadlines of its calls. Args that are then complete and valid are args of the whole
// stream. Outside of campaigns, and in objects, it ends them at some bytes of each line.
func TestEnds(t *testing.T) {
	for _, file := range endedStreams(t) {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if filepath.Base(name) == "221-openai-chat-finish-repeat-every-chunk" {
			continue // the server ends the message in each chunk
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := endAnywhere(data); err != nil {
				t.Error(err)
			}
		})
	}
}

// endedStreams returns the streams of the repository and, if they are available, others.
func endedStreams(t *testing.T) []string {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(decoders, "*", "*.jsonl"))
	if err != nil || len(own) == 0 {
		t.Fatal("no streams", err)
	}
	var others []string
	for _, pattern := range []string{"found/*.*", "found/recorded/*.*", "corpus*/*/*.*", agents + "/*/*.*"} {
		files, _ := filepath.Glob(testkit.Shared("formats", filepath.FromSlash(pattern)))
		others = append(others, slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".json") || strings.HasSuffix(f, ".md") })...)
	}
	for i, file := range others {
		if info, err := os.Stat(file); err == nil && i%testkit.Stride(8) == 0 && info.Size() < 128<<10 {
			own = append(own, file)
		}
	}
	return own
}

// ending folds a stream and ends it on a copy of the state.
type ending struct {
	rules  lifecycle.Rules
	reader *session.Reader
	state  *session.State
	seq    uint64
	texts  []string // the texts of all args of the whole stream
	valid  map[string]bool
}

func endAnywhere(data []byte) error {
	e := &ending{rules: lifecycle.DefaultRules(), reader: new(session.Reader), valid: map[string]bool{}}
	e.begin()
	for line := range bytes.Lines(data) {
		e.take(e.fold(inputs.Delta, 0, line))
	}
	e.take(e.fold(inputs.Clock, 0, []byte(`{"kind":"flush","ended":true}`)))
	for _, m := range e.state.Life.Messages {
		for i := range m.Calls {
			e.texts = append(e.texts, string(m.Calls[i].Text))
		}
	}
	e.begin()
	at := 0
	for line := range bytes.Lines(data) {
		if err := e.endIn(line, at); err != nil {
			return err
		}
		e.fold(inputs.Delta, 0, line)
		at += len(line)
	}
	return nil
}

func (e *ending) begin() { e.state, e.seq = new(session.State), 0 }

// endIn ends the stream before each byte of a line.
func (e *ending) endIn(line []byte, at int) error {
	stored, err := e.state.Marshal()
	if err != nil {
		return err
	}
	seq, step := e.seq, testkit.Stride(max(1, len(line)/2))
	if testkit.Campaigns() && line[0] == '{' { // a piece of an object is no JSON
		step = 1 + len(line)/8
	}
	for n := 0; n < len(line); n += step {
		for _, end := range [...]func() []events.Event{e.endStream, e.cancel, e.expire} {
			if e.state, err = session.Load(stored); err != nil {
				return err
			}
			e.seq = seq
			list := e.fold(inputs.Delta, 0, line[:n])
			if wrong := e.wrong(append(list, end()...)); wrong != "" {
				return fmt.Errorf("ended at byte %d: %s", at+n, wrong)
			}
		}
	}
	e.seq = seq
	e.state, err = session.Load(stored)
	return err
}

func (e *ending) endStream() []events.Event {
	return e.fold(inputs.Clock, 0, []byte(`{"kind":"flush","ended":true}`))
}

func (e *ending) cancel() []events.Event {
	list := e.fold(inputs.Clock, 0, []byte(`{"kind":"flush"}`))
	return append(list, e.fold(inputs.End, 0, []byte(`{"reason":"cancelled"}`))...)
}

// expire lets the deadlines of all calls pass.
func (e *ending) expire() (list []events.Event) {
	list = e.fold(inputs.Clock, time.Minute, []byte(`{"kind":"flush"}`))
	var calls []string
	for _, m := range e.state.Life.Messages {
		for i := range m.Calls {
			calls = append(calls, m.Calls[i].State.Call)
		}
	}
	for _, call := range calls {
		list = append(list, e.fold(inputs.Clock, 48*time.Hour, fmt.Appendf(nil, `{"kind":"deadline","call":%q}`, call))...)
	}
	return list
}

func (e *ending) fold(kind inputs.Kind, at time.Duration, data []byte) []events.Event {
	e.seq++
	return session.Fold(nil, e.state, session.Input{Rules: &e.rules, Reader: e.reader, Input: inputs.Input{
		Seq: e.seq, At: time.UnixMilli(int64(e.seq)).Add(at), Token: "s", Kind: kind, Data: data,
	}})
}

// take notes the args of the whole stream.
func (e *ending) take(list []events.Event) {
	for i := range list {
		if a := &list[i]; a.Type == events.ToolCallArgsComplete && a.ArgsText != nil {
			e.texts = append(e.texts, *a.ArgsText)
			if *a.ArgsValid {
				e.valid[a.ToolName+*a.ArgsText] = true
			}
		}
	}
}

// wrong returns the first args that are complete and valid although the whole stream does
// not have them, or "". Whole JSON before other bytes of the same args is no fault: nothing
// shows that they follow.
func (e *ending) wrong(list []events.Event) string {
	for i := range list {
		a := &list[i]
		if a.Type != events.ToolCallArgsComplete || a.ArgsText == nil || !*a.ArgsValid || e.valid[a.ToolName+*a.ArgsText] {
			continue
		}
		text := *a.ArgsText
		if !slices.ContainsFunc(e.texts, func(whole string) bool { return text != "" && strings.HasPrefix(whole, text) }) {
			return fmt.Sprintf("the args of %s %s(%s) are complete and valid by %s", a.ID, a.ToolName, text, a.By)
		}
	}
	return ""
}
