package eventlog

import (
	"context"
	"errors"
	"slices"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// TestEventsOfType checks that the events of one type are read without those of
// other types and sessions, and without forged ones.
func TestEventsOfType(t *testing.T) {
	b := start(t, broker.Options{})
	add := func(token string, n int, typ events.Type, prev uint64) uint64 {
		e := &events.Event{Type: typ, EventID: events.ID{Seq: uint64(n)}}
		return must(t, b, b.EventPub(token, e, []byte("{}"), nil, prev))
	}
	read := func(typ events.Type, after uint64) (seqs []uint64) {
		err := b.EventsOf(t.Context(), "s", typ, after, func(r events.Record) error {
			if r.Type != typ {
				t.Errorf("events of %s: got %s", typ, r.Type)
			}
			seqs = append(seqs, r.Seq)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return seqs
	}
	first := add("s", 1, events.RunStarted, 0)
	other := add("s", 2, events.RunFinished, first)
	second := add("s", 3, events.RunStarted, other)
	add("t", 4, events.RunStarted, 0)
	for after, want := range map[uint64][]uint64{0: {first, second}, first: {second}, second: nil} {
		if got := read(events.RunStarted, after); !slices.Equal(got, want) {
			t.Errorf("after %d: got %v, want %v", after, got, want)
		}
	}
	last := func(typ events.Type) uint64 {
		r, err := b.LastOf(t.Context(), "s", typ)
		if err != nil {
			t.Fatal(err)
		}
		return r.Seq
	}
	for typ, want := range map[events.Type]uint64{events.RunStarted: second, events.RunFinished: other, events.Rejected: 0} {
		if got := last(typ); got != want {
			t.Errorf("last of %s: got %d, want %d", typ, got, want)
		}
	}
	forged := must(t, b, &broker.Pub{Subject: "_toolcalls.s.event.run_started", Header: nats.Header{}, Data: []byte("{}")})
	if got := last(events.RunStarted); got != second {
		t.Errorf("last of run_started after the forged %d: got %d, want %d", forged, got, second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), brokertest.Within)
	defer cancel()
	if err := b.EventsOf(ctx, "s", events.RunStarted, 0, func(events.Record) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Errorf("EventsOf: got %v, want the error of fn", err)
	}
}
