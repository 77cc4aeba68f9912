package inputlog

import (
	"errors"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

// TestAllInputs checks that the inputs of all partitions come in stream order up
// to the end, and that inputs that expired meanwhile are an error.
func TestAllInputs(t *testing.T) {
	b := start(t, broker.Options{Partitions: 4})
	none := func([]inputs.Input, uint64) error { t.Error("an input of an empty log"); return nil }
	if err := b.AllInputs(brokertest.Deadline(t), 1, none); err != nil {
		t.Fatalf("empty log: got %v, want no error", err)
	}
	fill(t, b, 3000, 50, []byte(`{}`))
	last := uint64(0)
	err := b.AllInputs(brokertest.Deadline(t), 11, func(batch []inputs.Input, next uint64) error {
		for _, in := range batch {
			if want := max(last+1, 11); in.Seq != want || in.Foreign || in.Partition != b.Partition(in.Token) {
				t.Fatalf("got input %d of %s in partition %d, want input %d in partition %d", in.Seq, in.Token, in.Partition, want, b.Partition(in.Token))
			}
			last = in.Seq
		}
		if next != last+1 {
			t.Errorf("the log is read up to %d, want %d", next, last+1)
		}
		return nil
	})
	if err != nil || last != 3000 {
		t.Errorf("got %v, and read up to input %d, want 3000", err, last)
	}
	purge(t, b, `{"seq":100}`)
	err = b.AllInputs(brokertest.Deadline(t), 11, none)
	if lost, ok := errors.AsType[*LostError](err); !ok || lost.From != 11 || lost.First != 100 {
		t.Errorf("after a purge: got %v, want an LostError from 11, first 100", err)
	}
}
