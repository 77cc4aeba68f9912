package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestLangGraphRules checks the rules of the client for recorded streams that are cut
// and ended in different ways. What a client has in the end
// depends neither on when it connects nor on where its connection is cut.
func TestLangGraphRules(t *testing.T) {
	runs, calls := 0, 0
	eachEnding(t, func(name string, l *inputLog) {
		for _, u := range l.turns()[:min(1, len(l.turns()))] {
			runs++
			calls += checkLangGraph(t, name, u)
		}
	})
	t.Logf("%d runs, %d calls", runs, calls)
	if runs < 150 || calls < 150 {
		t.Errorf("checked %d runs with %d calls: too few", runs, calls)
	}
}

// checkLangGraph checks the streams of clients of a run and returns the number of
// its calls.
func checkLangGraph(t *testing.T, name string, u turnOf) int {
	t.Helper()
	var want string
	calls := 0
	for _, history := range []int{len(u.log), len(u.log) / 2, 0} {
		frames, done := u.framesOf(t, "langgraph", history, 0)
		c, err := readLangGraph(frames, u.log)
		if err == nil && done != finishes(t, u) {
			err = fmt.Errorf("the stream is complete: %v", done)
		}
		if err != nil {
			t.Fatalf("%s, %d of %d events stored: %v\n%s", name, history, len(u.log), err, strings.Join(frames, ""))
		}
		if history == len(u.log) {
			want, calls = c.String(), len(c.results)
		}
		if got := c.String(); got != want {
			t.Fatalf("%s, %d of %d events stored: got\n%s\nwant\n%s", name, history, len(u.log), got, want)
		}
		for _, at := range []int{len(frames) / 3, len(frames) - 1} {
			if history != 0 || at < 1 {
				continue
			}
			kept := slices.Clone(frames[:at])
			rest, _ := u.framesOf(t, "langgraph", len(u.log)/2, lastFrameID(kept))
			c, err := readLangGraph(append(kept, rest...), u.log)
			if err != nil || c.String() != want {
				t.Fatalf("%s, cut after %d of %d frames: %v\ngot\n%s\nwant\n%s\n%s|\n%s", name, at, len(frames), err, c, want, strings.Join(kept, ""), strings.Join(rest, ""))
			}
		}
	}
	return calls
}

// framesOf returns the frames of a stream of which the first history events are
// stored when the client connects with a cursor.
func (u *turnOf) framesOf(t testing.TB, protocol string, history int, since uint64) ([]string, bool) {
	enc := open(t, protocol)
	b := enc.Open(nil, Opening{Session: "s", Run: u.run, Since: since})
	for i, r := range u.log {
		if i == history {
			b = enc.Live(b, r.Seq)
		}
		if b = u.encodeEvent(b, enc, i); enc.Done() {
			break
		}
	}
	if history >= len(u.log) && !enc.Done() {
		b = enc.Live(b, 0)
	}
	var frames []string
	for _, f := range strings.SplitAfter(string(b), "\n\n") {
		if f = strings.TrimPrefix(strings.TrimPrefix(f, ": joined\n"), ": open\n"); f != "" {
			frames = append(frames, f)
		}
	}
	return frames, enc.Done()
}

func lastFrameID(frames []string) (id uint64) {
	for _, f := range frames {
		if rest, ok := strings.CutPrefix(f, "id: "); ok {
			id, _ = strconv.ParseUint(rest[:strings.IndexByte(rest, '\n')], 10, 64)
		}
	}
	return id
}

// lgClient is what a client has of a run.
type lgClient struct {
	messages map[string]*lgShown
	order    []string
	results  map[string]string
	ended    bool
}

type lgShown struct {
	content, reasoning string
	calls              []*lgShownCall
}

type lgShownCall struct{ id, name, args string }

// readLangGraph applies the frames of a run as the SDK does, and checks what it does
// not check.
func readLangGraph(frames []string, log []events.Record) (*lgClient, error) {
	c := &lgClient{messages: map[string]*lgShown{}, results: map[string]string{}}
	last := uint64(0)
	for _, f := range frames {
		id, event, data, err := parseFrame(f)
		if err == nil && c.ended {
			err = errors.New("a frame after the end")
		}
		if err == nil && id != "" {
			n, _ := strconv.ParseUint(id, 10, 64)
			if n <= last {
				err = fmt.Errorf("id %d after %d", n, last)
			}
			last = n
		}
		if err == nil {
			err = c.apply(event, data)
		}
		if err != nil {
			return c, fmt.Errorf("%w in %s", err, f)
		}
	}
	return c, c.check(log)
}

// parseFrame returns the fields of a frame.
func parseFrame(f string) (id, event string, data []byte, err error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(f, "\n\n"), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok:
			err = fmt.Errorf("line %q", line)
		case name == "id" && id == "":
			id = value
		case name == "event" && event == "":
			event = value
		case name == "data" && data == nil:
			data = []byte(value)
		default:
			err = fmt.Errorf("field %q", name)
		}
	}
	if err == nil && (event == "" || !json.Valid(data)) {
		err = errors.New("no event or no data")
	}
	return id, event, data, err
}

func (c *lgClient) apply(event string, data []byte) error {
	switch name, _, _ := strings.Cut(event, "|"); name {
	case "metadata", "custom", "values", "error":
		return nil
	case "end":
		c.ended = true
		return nil
	case "messages":
		var tuple []json.RawMessage
		var chunk lgChunk
		if err := json.Unmarshal(data, &tuple); err != nil || len(tuple) != 2 {
			return errors.New("not a tuple")
		}
		if err := json.Unmarshal(tuple[0], &chunk); err != nil {
			return err
		}
		return c.add(&chunk)
	}
	return errors.New("unknown event")
}

// add applies a chunk of a message.
func (c *lgClient) add(k *lgChunk) error {
	if k.ID == "" {
		return errors.New("no id: the client drops it")
	}
	switch k.Type {
	case "tool":
		if _, known := c.results[k.ToolCallID]; known || k.ToolCallID == "" || k.Status != "success" && k.Status != "error" {
			return errors.New("a second result, or one without a call or a status")
		}
		c.results[k.ToolCallID] = k.Status + " " + k.Content
		return nil
	case "remove":
		delete(c.messages, k.ID)
		return nil
	case "AIMessageChunk", "HumanMessageChunk", "SystemMessageChunk":
	default:
		return errors.New("unknown type")
	}
	m := c.messages[k.ID]
	if m == nil {
		m = &lgShown{}
		c.messages[k.ID], c.order = m, append(c.order, k.ID)
	}
	m.content += k.Content
	m.reasoning += k.AdditionalKwargs.Reasoning
	for _, p := range k.ToolCallChunks {
		switch {
		case p.Index == len(m.calls) && p.ID != nil && p.Name != nil && *p.ID != "" && *p.Name != "":
			m.calls = append(m.calls, &lgShownCall{*p.ID, *p.Name, p.Args})
		case p.Index < len(m.calls) && p.ID == nil && p.Name == nil:
			m.calls[p.Index].args += p.Args
		default:
			return fmt.Errorf("call %d of %d", p.Index, len(m.calls))
		}
	}
	return nil
}

// check compares what the client has with the log: the args of each call that has
// complete args, and all text.
func (c *lgClient) check(log []events.Record) error {
	args := map[string]string{}
	for _, m := range c.messages {
		for _, k := range m.calls {
			if _, known := args[k.id]; known {
				return fmt.Errorf("call %s is in two places", k.id)
			}
			args[k.id] = k.args
		}
	}
	sent, odd := map[string]int{}, map[string]bool{}
	for _, r := range log {
		if !isShown(r.Type) {
			continue
		}
		var e events.Event
		if err := json.Unmarshal(r.Data, &e); err != nil {
			return err
		}
		switch r.Type {
		case events.ToolCallArgsDelta:
			odd[e.Call] = odd[e.Call] || e.Offset.Bytes() != sent[e.Call]
			sent[e.Call] = e.Offset.Bytes() + len(e.Args)
		case events.ToolCallArgsComplete:
			odd[e.Call] = odd[e.Call] || e.ArgsText != nil && sent[e.Call] > len(*e.ArgsText)
			if text, known := args[e.UID]; known && !odd[e.Call] && *e.ArgsValid && !sameObject(text, lgObject(&e)) {
				return fmt.Errorf("call %s: got args %s, want %s", e.UID, text, lgObject(&e))
			}
		case events.RunFinished:
			return nil
		}
	}
	return nil
}

// sameObject reports whether two texts are the same JSON object.
func sameObject(a string, b []byte) bool {
	var x, y map[string]any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// String returns what the client shows in the end.
func (c *lgClient) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "ended: %v\n", c.ended)
	for _, id := range c.order {
		if m := c.messages[id]; m != nil {
			fmt.Fprintf(&b, "%s %q %q\n", id, m.content, m.reasoning)
			for _, k := range m.calls {
				fmt.Fprintf(&b, "  %s %s %s\n", k.id, k.name, k.args)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.results)) {
		fmt.Fprintf(&b, "%s %s\n", id, c.results[id])
	}
	return b.String()
}
