package session

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/docs"
	"streamer/internal/events"
	"streamer/internal/events/eventstest"
	"streamer/internal/inputs"

	"github.com/tidwall/gjson"
)

// TestEventsMatchSchema validates the events of each recorded stream, and of inputs
// after it, against the published schema. Every type of event occurs, and the schema lists
// the fields of each: the types of the clients are made of it.
func TestEventsMatchSchema(t *testing.T) {
	schema := eventstest.ReadSchema(t)
	var files []string
	for _, name := range []string{"*.jsonl", "*.txt"} {
		found, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "*", name))
		if err != nil || len(found) == 0 {
			t.Fatalf("no streams: %v", err)
		}
		files = append(files, found...)
	}
	seen := map[events.Type]int{}
	fields := map[[2]string]bool{} // a type and a field of it
	refs := 0
	lists := [][]events.Event{eventsOf(answered())}
	for i, file := range files {
		size := 10
		if i == 0 {
			size = 70_000
		}
		lists = append(lists, eventsOf(withControls(lines(t, file), size)))
	}
	for _, list := range lists {
		for _, e := range list {
			seen[e.Type]++
			if e.Type == events.Synthetic {
				continue // the body is a tool message
			}
			body, err := e.Body()
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Check(e.Type, body); err != nil {
				t.Errorf("%s\n%v", body, err)
			}
			gjson.ParseBytes(body).ForEach(func(key, _ gjson.Result) bool {
				fields[[2]string{string(e.Type), key.Str}] = true
				return true
			})
			if e.ArgsRef != nil || e.ToolResultRef != nil {
				refs++
			}
		}
	}
	for _, typ := range events.Types() {
		if seen[typ] == 0 {
			t.Errorf("no stream has an event %s", typ)
		}
	}
	for f := range fields {
		if !isListed(f[0], f[1]) {
			t.Errorf("docs/events.schema.json does not list the field %s of %s", f[1], f[0])
		}
	}
	if refs == 0 {
		t.Error("no event has a large value")
	}
}

// isListed reports whether the schema lists a field of a type of events.
func isListed(kind, field string) bool {
	for _, rule := range gjson.GetBytes(docs.EventSchema, "allOf").Array() {
		of := rule.Get("if").Raw
		if (strings.Contains(of, strconv.Quote(kind)) || strings.Contains(of, `"call"`) && strings.HasPrefix(kind, "tool_call_")) &&
			strings.Contains(rule.Get("then").Raw, strconv.Quote(field)) {
			return true
		}
	}
	return slices.Contains([]string{"type", "event_id", "session", "run", "timestamp"}, field)
}

// answered returns a log in which people answer calls.
func answered() log {
	var l log
	for i, in := range []struct {
		kind inputs.Kind
		data string
	}{
		{inputs.Delta, `{"event":"messages","data":[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"index":0,"id":"a","name":"send","args":"{}"},{"index":1,"id":"b","name":"pay","args":"{}"}],"chunk_position":"last"},{}]}`},
		{inputs.Delta, `{"event":"updates","data":{"__interrupt__":[{"value":{"ask":"pay"},"id":"i"}]}}`},
		{inputs.Answer, `{"tool_call_id":"a","decision":"edit","args":{"to":"x"},"by":"ann"}`},
		{inputs.Answer, `{"tool_call_id":"a","decision":"approve"}`},
		{inputs.Answer, `{"interrupt_id":"i","decision":"deny","value":"too early"}`},
		{inputs.Erase, ""},
	} {
		l.add(in.kind, 20*(i+1), in.data)
	}
	return l
}

// withControls appends inputs of each kind to a log: args and a result of a size, a
// result of a call that has ended, and inputs that name nothing or are not valid.
func withControls(l log, size int) log {
	at, large := 20*(len(l)+1), strings.Repeat("x", size)
	call := func(id, args string) string {
		return `{"id":"m` + id + `","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + id +
			`","type":"function","function":{"name":"f","arguments":` + strconv.Quote(args) + `}}]},"finish_reason":"tool_calls"}]}`
	}
	for _, in := range []struct {
		kind inputs.Kind
		data string
	}{
		{inputs.Delta, call("large", `{"a":"`+large+`"}`)},
		{inputs.Clock, `{"kind":"flush"}`},
		{inputs.Progress, `{"tool_call_id":"large","percent":50,"message":"half"}`},
		{inputs.Result, `{"tool_call_id":"large","content":"` + large + `"}`},
		{inputs.Result, `{"tool_call_id":"large","content":"another"}`},
		{inputs.Delta, call("cut", `{"a":`)},
		{inputs.Progress, `{"tool_call_id":"unknown"}`},
		{inputs.Interrupt, `{"calls":["1.9"],"run":"x"}`},
		{inputs.Result, `{"tool_call_id":"unknown","content":1}`},
		{inputs.Answer, `{"call":"1.9","interrupt_id":"i","decision":"approve"}`},
		{inputs.Delta, "oops"},
		{inputs.Result, "{"},
		{inputs.Interrupt, `{"reason":"user"}`},
		{inputs.Interrupt, `{"namespace":"a|b"}`},
		{inputs.Interrupt, `{"of":7,"binding":{"calls_out":[],"requests_answered":2,"process":"ended"}}`},
		{inputs.Resume, `{"by":"ann"}`},
		{inputs.Resume, ""},
		{inputs.End, `{"reason":"cancelled"}`},
		{inputs.Result, `{"tool_call_id":"cut","content":"late","tool_state":"finished_anyway"}`},
		{inputs.Result, `{"tool_call_id":"cut","tool_state":"unknown"}`},
	} {
		at += 20
		l.add(in.kind, at, in.data)
	}
	return l
}

// eventsOf returns the events of a log.
func eventsOf(l log) (out []events.Event) {
	var s State
	for _, in := range l {
		out = Fold(out, &s, in)
	}
	return out
}
