package eventlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// typed is an event of a type.
func typed(b testLog, token string, kind events.Type, n int, prev uint64, body string) *broker.Pub {
	return b.EventPub(token, &events.Event{Type: kind, EventID: events.ID{Seq: uint64(n)}, Call: "1.0"}, []byte(body), nil, prev)
}

// TestConfirm checks that only events are confirmed that the log has, whatever else
// is stored on their subjects.
func TestConfirm(t *testing.T) {
	b := start(t, broker.Options{})
	at := func(token string, kind events.Type, n uint64) Expected {
		return Expected{Token: token, Type: kind, ID: events.ID{Seq: n}}
	}
	prev := must(t, b, typed(b, "s", events.ToolCallStart, 1, 0, "{}"))
	prev = must(t, b, typed(b, "s", events.ToolCallArgsDelta, 2, prev, "{}"))
	must(t, b, typed(b, "s", events.Synthetic, 3, prev, "{}"))
	forge := func(token string, h nats.Header) {
		first := must(t, b, typed(b, token, events.ToolCallStart, 5, 0, "{}"))
		if h.Get(events.HeaderEventID) == "9.0" {
			h.Set(broker.HeaderPrev, strconv.FormatUint(first, 10))
			h.Set(broker.HeaderPrevOf, filterOf(token))
		}
		must(t, b, &broker.Pub{Subject: "_toolcalls." + token + ".event.tool_call_start", Header: h, Data: []byte("{}")})
	}
	forge("forged", nil)
	forge("id", nats.Header{events.HeaderEventID: {"x"}})
	// As an answer about another session, and as the end of the answers.
	forge("answer", nats.Header{"Nats-Subject": {"toolcalls.none.event.tool_call_start"}, events.HeaderEventID: {"9.0"}})
	forge("end", nats.Header{"Status": {"204"}, events.HeaderEventID: {"9.0"}})
	for _, c := range []struct {
		Expected
		want bool
	}{
		{at("s", events.ToolCallStart, 1), true},
		{at("s", events.ToolCallArgsDelta, 2), true},
		{at("s", events.Synthetic, 3), true},
		{at("s", events.ToolCallArgsDelta, 1), true},   // a later one of its type
		{at("s", events.ToolCallStart, 2), false},      // lost
		{at("s", events.ToolCallResult, 3), false},     // lost
		{at("none", events.ToolCallStart, 1), false},   // no session
		{at("forged", events.ToolCallStart, 5), false}, // Head shows it
		{at("id", events.ToolCallStart, 5), false},
		{at("end", events.ToolCallStart, 5), false},
		{at("answer", events.ToolCallStart, 5), false},
	} {
		if got := b.Confirm(brokertest.Deadline(t), []Expected{c.Expected}); !slices.Equal(got, []bool{c.want}) {
			t.Errorf("%+v: got %v, want %v", c.Expected, got, c.want)
		}
	}
	if got := b.Confirm(brokertest.Deadline(t), nil); len(got) != 0 {
		t.Errorf("nothing: got %v", got)
	}
}

// TestConfirmMany checks more events than one request has, some of which are missing
// and some of which are too large for one answer.
func TestConfirmMany(t *testing.T) {
	b := start(t, broker.Options{})
	const n = 700
	var expected []Expected
	var want []bool
	large := `"` + strings.Repeat("x", 200_000) + `"`
	for i := range n {
		token, body := fmt.Sprint("s", i), "{}"
		if i%50 < 8 {
			body = large
		}
		if i%7 != 0 {
			must(t, b, typed(b, token, events.ToolCallStart, i+1, 0, body))
		}
		expected = append(expected, Expected{Token: token, Type: events.ToolCallStart, ID: events.ID{Seq: uint64(i + 1)}})
		want = append(want, i%7 != 0)
	}
	if got := b.Confirm(brokertest.Deadline(t), expected); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
