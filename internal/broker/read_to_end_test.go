package broker

import (
	"slices"
	"testing"
	"time"
)

// TestReadToEndOfReplica checks that a read of a replicated stream goes on where the
// consumer is at its end and the leader is not. Here the leader gets another message
// after the consumer has counted.
func TestReadToEndOfReplica(t *testing.T) {
	for name, since := range map[string]bool{"sequence": false, "time": true} {
		t.Run(name, func(t *testing.T) {
			b := start(t, Options{})
			b.replicated = true
			before := time.Now().Add(-time.Minute)
			seqs := []uint64{must(t, b, event("s", 1, 0))}
			r, next := Reading{Stream: StreamEvents, Filter: "toolcalls.s.>"}, uint64(1)
			if since {
				r.Since, next = before, 0
			}
			var got []uint64
			err := b.ReadToEnd(deadline(t), r, next, Each(func(m Message) error {
				if got = append(got, m.Seq); len(got) == 1 {
					must(t, b, event("other", 1, 0))
					seqs = append(seqs, must(t, b, event("s", 2, m.Seq)))
				}
				return nil
			}))
			if err != nil || !slices.Equal(got, seqs) {
				t.Errorf("got %v, %v, want %v", got, err, seqs)
			}
		})
	}
}

// TestReadToEndOfNothing checks that a read ends where the leader has no message that
// is to be delivered: none at all, none that is young enough, or none any more.
func TestReadToEndOfNothing(t *testing.T) {
	b := start(t, Options{})
	b.replicated = true
	none := Each(func(m Message) error {
		t.Errorf("got message %d, want none", m.Seq)
		return nil
	})
	r := Reading{Stream: StreamEvents, Filter: "toolcalls.s.>"}
	if err := b.ReadToEnd(deadline(t), r, 1, none); err != nil {
		t.Error(err)
	}
	seq := must(t, b, event("s", 1, 0))
	if err := b.ReadToEnd(deadline(t), r, seq+1, none); err != nil {
		t.Error(err)
	}
	r.Since = time.Now().Add(time.Minute)
	if err := b.ReadToEnd(deadline(t), r, 0, none); err != nil {
		t.Error(err)
	}
}

// TestReadToEndStops checks that a read that its receiver ends asks nothing more.
func TestReadToEndStops(t *testing.T) {
	b := start(t, Options{})
	b.replicated = true
	must(t, b, event("s", 1, 0))
	must(t, b, event("s", 2, 1))
	n := 0
	err := b.ReadToEnd(deadline(t), Reading{Stream: StreamEvents}, 1, func([]Message) error {
		n++
		return ErrStop
	})
	if err != nil || n != 1 {
		t.Errorf("got %d batches, %v, want 1", n, err)
	}
}
