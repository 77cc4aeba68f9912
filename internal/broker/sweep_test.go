package broker

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// ofPartition gives the sequences of a partition's inputs from one on.
func ofPartition(all [][]uint64, p int, from uint64) []uint64 {
	i, _ := slices.BinarySearch(all[p], from)
	return all[p][i:]
}

// swept fills a broker whose partitions are far behind from ten inputs on, and
// gives the sequences of each partition, read alone.
func swept(t *testing.T, partitions, n int) (*Broker, [][]uint64) {
	t.Helper()
	b := start(t, Options{Partitions: partitions})
	fill(t, b, n, 97, []byte(`{}`))
	all := make([][]uint64, partitions)
	for p := range all {
		for _, in := range collect(t, b, p, 1, untilCaughtUp) {
			all[p] = append(all[p], in.Seq)
		}
	}
	if c := b.Counts().Swept; c != 0 {
		t.Fatalf("got %d sweeps where partitions were read one by one, want none", c)
	}
	b.sweep.from = 10
	return b, all
}

// readTogether reads all partitions at once, each from its place, until it is
// caught up. pause is called with each batch.
func readTogether(t *testing.T, b *Broker, all [][]uint64, from []uint64, pause func(p int)) {
	t.Helper()
	var reads sync.WaitGroup
	for p := range all {
		reads.Go(func() {
			var got []uint64
			last := from[p]
			err := b.Inputs(deadline(t), p, from[p], func(batch []Input, next uint64, caughtUp bool) error {
				pause(p)
				for _, in := range batch {
					got = append(got, in.Seq)
				}
				if next < last || len(got) > 0 && next <= got[len(got)-1] {
					t.Errorf("partition %d: next is %d after %d and %d inputs", p, next, last, len(got))
				}
				last = next
				if caughtUp {
					return errEnough
				}
				return nil
			})
			if !errors.Is(err, errEnough) {
				t.Errorf("partition %d: %v", p, err)
			}
			if want := ofPartition(all, p, from[p]); !slices.Equal(got, want) {
				t.Errorf("partition %d from %d: got %d inputs, want %d, and the same: %v, %v", p, from[p], len(got), len(want), got, want)
			}
		})
	}
	reads.Wait()
}

// TestSweep: partitions that are far behind together are read by one consumer,
// and each gets what it gets alone.
func TestSweep(t *testing.T) {
	b, all := swept(t, 4, 5000)
	readTogether(t, b, all, []uint64{1, 1, 1, 1}, func(int) {})
	if c := b.Counts().Swept; c == 0 {
		t.Error("got no sweep")
	}
}

// TestSweepIsOnlyForMost: where this process reads half of the partitions, one
// consumer for all would bring as much that nobody wants.
func TestSweepIsOnlyForMost(t *testing.T) {
	b, all := swept(t, 4, 500)
	readTogether(t, b, all[:2], []uint64{1, 1}, func(int) {})
	if c := b.Counts().Swept; c != 0 {
		t.Errorf("got %d sweeps, want none", c)
	}
}

// TestSweepLeavesBehind: a partition whose owner takes nothing holds up no
// other, and gets all of its inputs later.
func TestSweepLeavesBehind(t *testing.T) {
	b, all := swept(t, 4, 20_000)
	var others sync.WaitGroup
	others.Add(3)
	done := [4]sync.Once{}
	seen := [4]int{}
	readTogether(t, b, all, []uint64{1, 1, 1, 1}, func(p int) {
		switch seen[p]++; {
		case p == 0 && seen[p] == 2:
			others.Wait()
		case p > 0 && seen[p] == 8: // more than may be on their way
			done[p].Do(others.Done)
		}
	})
}

// TestSweepAnyWay: wherever the partitions begin, however their owners dawdle
// and whatever happens to the connection, each gets its inputs, once and in
// order.
func TestSweepAnyWay(t *testing.T) {
	const n = 4000
	b, all := swept(t, 6, n)
	for seed := range uint64(12) {
		from := make([]uint64, len(all))
		dice := make([]*rand.Rand, len(all))
		for p := range from {
			dice[p] = rand.New(rand.NewPCG(seed, uint64(p)))
			from[p] = 1 + dice[p].Uint64N(n)
			if dice[p].IntN(2) == 0 {
				from[p] = 1 + dice[p].Uint64N(n/10)
			}
		}
		ctx, stop := context.WithCancel(context.Background())
		var shaken sync.WaitGroup
		shaken.Go(func() { shake(ctx, b) })
		readTogether(t, b, all, from, func(p int) {
			if dice[p].IntN(4) == 0 {
				time.Sleep(time.Duration(dice[p].IntN(int(5 * time.Millisecond)))) // an owner that works
			}
		})
		stop()
		shaken.Wait()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if c := b.Counts().Swept; c == 0 {
		t.Error("got no sweep")
	}
}

// shake has all consumers made again, again and again.
func shake(ctx context.Context, b *Broker) {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.again.fire()
		case <-ctx.Done():
			return
		}
	}
}

// TestSweepOverBeforeItRewinds: who boards further back, and is let go before
// the sweep came there, has got nothing.
func TestSweepOverBeforeItRewinds(t *testing.T) {
	s := newSweep(&Broker{partitions: 2})
	s.from, s.readers, s.next, s.stop = 0, 2, 50, func() {}
	r := s.board(0, 40, 100)
	s.over()
	if _, open := <-r.in; open || r.end != 0 {
		t.Errorf("got that it has everything before %d, want nothing", r.end)
	}
}
