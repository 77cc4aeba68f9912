package encode

import (
	"bytes"
	"strconv"
	"testing"

	"streamer/internal/events"
)

// liveDeltas returns a function that encodes the next live delta for one client. A
// call, or a message, begins after every 1,000 deltas.
func liveDeltas(t testing.TB, protocol string, kind events.Type) func() []byte {
	enc := open(t, protocol)
	place := events.Place{MessageID: "chatcmpl-1"}
	var dst []byte
	send := func(e *events.Event) []byte {
		e.Session, e.Run, e.Place, e.Timestamp = "demo", "17.0", &place, 1_700_000_000_000
		dst = enc.Event(dst[:0], events.Record{Seq: 9, Type: e.Type}, e)
		return dst
	}
	enc.Open(nil, Opening{Session: "demo"})
	enc.Live(nil, 0)
	send(&events.Event{Type: events.RunStarted})
	e := &events.Event{Type: kind, Kind: "text"}
	n := 0
	return func() []byte {
		if n%1000 == 0 {
			send(&events.Event{Type: events.MessageFinished})
			send(&events.Event{Type: events.ToolCallResult, Call: e.Call, Status: events.Completed})
			send(&events.Event{Type: events.MessageStarted, Role: "assistant", EventID: events.ID{Seq: uint64(n + 1)}})
			if kind == events.ToolCallArgsDelta {
				e.Call, e.Args = strconv.Itoa(n+1)+".0", `{"city":"`
				send(&events.Event{Type: events.ToolCallStart, Call: e.Call, ToolName: "get_weather"})
			}
			e.Offset = events.OffsetAt(0)
		} else if kind == events.ToolCallArgsDelta {
			e.Offset, e.Args = e.Offset+events.Offset(len(e.Args)), " Oslo, Norway"
		}
		if n++; kind == events.AgentResponseChunk {
			e.Content = " a \"word\""
		}
		return send(e)
	}
}

// deltaCosts calls fn for each protocol with parsed events and each kind of delta.
func deltaCosts(fn func(protocol string, kind events.Type)) {
	for _, p := range protocols {
		if p.Inline {
			fn(p.Name, events.ToolCallArgsDelta)
			fn(p.Name, events.AgentResponseChunk)
		}
	}
}

// TestDeltaAllocations checks the allocations for a live delta that another stream of
// the session has parsed already.
func TestDeltaAllocations(t *testing.T) {
	deltaCosts(func(protocol string, kind events.Type) {
		next := liveDeltas(t, protocol, kind)
		next()
		if n := testing.AllocsPerRun(500, func() { next() }); n > 1 {
			t.Errorf("%s, %s: %v allocations, want at most 1", protocol, kind, n)
		}
		if b := next(); !bytes.Contains(b, []byte("Oslo, Norway")) && !bytes.Contains(b, []byte(`a \"word\"`)) {
			t.Errorf("%s, %s: got %s", protocol, kind, b)
		}
	})
}

// BenchmarkDelta measures a live delta for one client more.
func BenchmarkDelta(b *testing.B) {
	deltaCosts(func(protocol string, kind events.Type) {
		b.Run(protocol+"/"+string(kind), func(b *testing.B) {
			next := liveDeltas(b, protocol, kind)
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	})
}
