package inputlog

import (
	"slices"
	"testing"

	"streamer/internal/broker"
)

// messages returns messages of consecutive sequences.
func messages(from, to uint64, size int) []broker.Message {
	var list []broker.Message
	for seq := from; seq <= to; seq++ {
		list = append(list, broker.Message{Seq: seq, Data: make([]byte, size)})
	}
	return list
}

func sequences(batch []broker.Message) []uint64 {
	var list []uint64
	for i := range batch {
		list = append(list, batch[i].Seq)
	}
	return list
}

// Parts that wait are joined into one, and inputs that are read again are left out.
func TestInboxJoinsParts(t *testing.T) {
	b := newInbox(3)
	for _, p := range []part{
		{batch: messages(1, 4, 0), next: 5, read: broker.Witness{Seq: 4}, caughtUp: true},
		{batch: messages(2, 6, 0), next: 8, read: broker.Witness{Seq: 7}},
		{batch: messages(2, 3, 0), next: 4, read: broker.Witness{Seq: 3}, caughtUp: true}, // read again
		{next: 20},
	} {
		if !b.put(p) {
			t.Fatalf("%+v: full", p)
		}
	}
	p, closed := b.take()
	if got, want := sequences(p.batch), []uint64{3, 4, 5, 6}; !slices.Equal(got, want) || p.next != 20 || p.read.Seq != 7 || p.caughtUp || closed {
		t.Errorf("got %v up to %d, read %d, caught up %v, closed %v, want %v up to 20, read 7", got, p.next, p.read.Seq, p.caughtUp, closed, want)
	}
	b.put(part{batch: messages(20, 20, 0), next: 21, caughtUp: true})
	b.close()
	if got := sequences(p.batch); !slices.Equal(got, []uint64{3, 4, 5, 6}) {
		t.Errorf("the part that was taken is now %v", got)
	}
	again, closed := b.take()
	if got := sequences(again.batch); !slices.Equal(got, []uint64{20}) || !again.caughtUp || !closed {
		t.Errorf("got %v, caught up %v, closed %v, want input 20, then the end", got, again.caughtUp, closed)
	}
	if p, _ := b.take(); p.next != 0 || len(p.batch) != 0 {
		t.Errorf("got %+v from an empty inbox", p)
	}
}

// An inbox is bounded in inputs and in bytes beyond one part. A part without inputs always
// fits.
func TestInboxIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		n    uint64 // inputs of a part
		size int    // of an input
		fits int    // parts
	}{
		"inputs":      {100, 1, 5},
		"bytes":       {1, 500 << 10, 4},
		"large parts": {10, 1 << 20, 1},
	} {
		b := newInbox(1)
		for range 3 {
			n := 0
			for ; n <= c.fits && b.put(part{batch: messages(b.next, b.next+c.n-1, c.size), next: b.next + c.n}); n++ {
			}
			if n != c.fits {
				t.Errorf("%s: got more than %d parts or fewer: %d", name, c.fits, n)
			}
			next := b.next + 10
			if !b.put(part{next: next}) {
				t.Errorf("%s: a part without inputs does not fit", name)
			}
			if p, _ := b.take(); len(p.batch) != c.fits*int(c.n) || p.next != next {
				t.Errorf("%s: got %d inputs up to %d, want %d up to %d", name, len(p.batch), p.next, c.fits*int(c.n), next)
			}
		}
	}
}
