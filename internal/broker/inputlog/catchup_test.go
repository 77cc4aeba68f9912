package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
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

// TestSweepIsOnlyForMany: where this process reads few of the partitions, one
// consumer for all would bring too much that nobody wants.
func TestSweepIsOnlyForMany(t *testing.T) {
	b, all := swept(t, 12, 1000)
	readTogether(t, b, all[:3], []uint64{1, 1, 1}, func(int) {})
	if c := b.Counts().Swept; c != 0 {
		t.Errorf("got %d sweeps, want none", c)
	}
	for range 10 { // they have to begin at nearly the same time
		readTogether(t, b, all[:4], []uint64{1, 1, 1, 1}, func(int) {})
		if b.Counts().Swept > 0 {
			return
		}
	}
	t.Error("got no sweep of a third of them")
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
	if c := b.Counts().Swept; c == 0 {
		t.Error("got no sweep")
	}
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

// TestSweepPassesWhatIsDeleted: a message that somebody deleted by hand is no
// loss to anybody.
func TestSweepPassesWhatIsDeleted(t *testing.T) {
	b, all := swept(t, 2, 5000)
	for p := range all {
		gone := len(all[p]) / 2
		err := b.ask(deadline(t), "$JS.API.STREAM.MSG.DELETE."+streamInputs, map[string]any{"seq": all[p][gone]}, &failure{})
		if err != nil {
			t.Fatal(err)
		}
		all[p] = slices.Delete(all[p], gone, gone+1)
	}
	readTogether(t, b, all, []uint64{1, 1}, func(int) {})
	if c := b.Counts().Swept; c != 1 {
		t.Errorf("got %d sweeps, want one that goes on", c)
	}
}

// TestSweepMisses: where inputs expire before a sweep comes to them, every
// partition that it took along stops, and gets nothing from behind them.
func TestSweepMisses(t *testing.T) {
	const first = 15_000
	b, all := swept(t, 4, 20_000)
	var purge sync.Once
	var reads sync.WaitGroup
	for p := range all {
		reads.Go(func() {
			last := uint64(0)
			err := b.Inputs(deadline(t), p, 1, func(batch []Input, _ uint64, caughtUp bool) error {
				if len(batch) > 0 {
					last = batch[len(batch)-1].Seq
				}
				if b.Counts().Swept > 0 {
					purge.Do(func() {
						if err := b.ask(deadline(t), apiPurge+streamInputs, map[string]any{"seq": first}, &failure{}); err != nil {
							t.Error(err)
						}
					})
				}
				if caughtUp {
					return errEnough
				}
				return nil
			})
			var lost *InputLostError
			if !errors.As(err, &lost) || lost.First != first || lost.From <= last || last >= first {
				t.Errorf("partition %d: got %v after %d, want that inputs from there to %d are lost", p, err, last, first)
			}
		})
	}
	reads.Wait()
}

// TestSweepNeedsMany: where few partitions are behind, each reads alone, though
// the process reads all of them.
func TestSweepNeedsMany(t *testing.T) {
	b, all := swept(t, 4, 8000)
	end := all[0][len(all[0])-1]
	readTogether(t, b, all, []uint64{1, end + 1, end + 1, end + 1}, func(int) {})
	if c := b.Counts().Swept; c != 0 {
		t.Errorf("got %d sweeps for one partition, want none", c)
	}

	s, riders := aboard(12, 1)
	batch := []stored{{seq: 1, subject: "_llm.0.s.delta"}}
	for _, r := range riders[4:] {
		s.leave(r)
	}
	if err := s.deal(deadline(t), batch, 1); err != nil {
		t.Errorf("with a third aboard: %v", err)
	}
	s.leave(riders[3])
	if err := s.deal(deadline(t), batch, 1); !errors.Is(err, errFew) {
		t.Errorf("with fewer aboard: got %v, want %v", err, errFew)
	}
}

// TestSweepRefused: where the server lets nobody read without a filter, the
// partitions read on alone, and try no more for a while.
func TestSweepRefused(t *testing.T) {
	s := newTestServer(t)
	s.stop()
	s.opts.NoAuthUser = localUser
	s.opts.Users = []*server.User{{Username: localUser, Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Deny: []string{apiConsumerCreate + streamInputs + ".*"}},
	}}}
	s.start()
	b := start(t, Options{URL: s.url(), Partitions: 2})
	fill(t, b, 4000, 97, []byte(`{}`))
	b.sweep.from, b.sweep.silence = 10, 100*time.Millisecond
	var reads sync.WaitGroup
	for p := range 2 {
		reads.Go(func() { collect(t, b, p, 1, untilCaughtUp) })
	}
	reads.Wait()
	if c := b.Counts().Swept; c != 1 {
		t.Errorf("got %d sweeps, want one", c)
	}
}

// aboard gives a sweep that stands still, and those that it takes along.
func aboard(partitions int, next uint64) (*sweep, []*rider) {
	s := newSweep(&Broker{partitions: partitions})
	s.readers, s.next, s.stop, s.aboard = partitions, next, func() {}, 1 // somebody else, for the moment
	var riders []*rider
	for p := range partitions {
		riders = append(riders, s.board(p, next, sweepFrom))
	}
	s.aboard--
	return s, riders
}

// TestSweepTells: a partition that has nothing among many inputs hears how far
// the sweep has come, and where it ends.
func TestSweepTells(t *testing.T) {
	s, riders := aboard(2, 1)
	for seq := uint64(1); seq <= sweepTell+2; seq++ {
		s.giveAll(riders, []stored{{seq: seq, subject: "_llm.1.s.delta"}}, seq+1, seq == sweepTell+2)
		if got := len((<-riders[1].in).batch); got != 1 {
			t.Fatalf("got %d inputs, want each", got)
		}
	}
	for _, want := range []uint64{sweepTell + 1, sweepTell + 3} {
		if p := <-riders[0].in; len(p.batch) != 0 || p.next != want {
			t.Errorf("got %d inputs up to %d, want none up to %d", len(p.batch), p.next, want)
		}
	}
}

// TestSweepWaitsOnce: however many take nothing, the others wait for them
// together, and who was left behind does not board again at once, which would
// take all the others back.
func TestSweepWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, riders := aboard(8, 1)
		began := time.Now()
		for seq := range uint64(sweepRoom + 1) {
			var batch []stored
			for p := range riders {
				batch = append(batch, stored{seq: seq, subject: fmt.Sprintf("_llm.%d.s.delta", p)})
			}
			s.giveAll(riders, batch, seq+1, false)
		}
		if took := time.Since(began); took != sweepPatience {
			t.Errorf("waited for %v, want %v", took, sweepPatience)
		}
		if s.board(0, 1, sweepFrom) != nil {
			t.Error("who took nothing boards again at once")
		}
		time.Sleep(restLate)
		s.aboard++ // somebody else
		if s.board(0, 1, sweepFrom) == nil {
			t.Error("who took nothing never boards again")
		}
	})
}

// TestSweepOfALostEnd: somebody has come further than the stream reaches now,
// and would miss what is stored there.
func TestSweepOfALostEnd(t *testing.T) {
	b := start(t, Options{Partitions: 2})
	fill(t, b, 10, 2, nil)
	s, _ := aboard(2, 1)
	s.b = b
	if err := s.position(deadline(t), 11); err != nil {
		t.Errorf("got %v at the end of the stream", err)
	}
	s.next = 12 // and those who are aboard
	s.alone[1] = time.Time{}
	s.leave(s.riders[1])
	if s.board(1, 5, sweepFrom) == nil || !s.rewind {
		t.Error("a partition that is further back does not make the sweep go back")
	}
	if err := s.position(deadline(t), 5); !errors.Is(err, errStop) {
		t.Errorf("got %v where somebody is behind the end, want %v", err, errStop)
	}
}

func TestPartitionOf(t *testing.T) {
	for subject, want := range map[string]int{
		"_llm.0.s.delta": 0, "_llm.15.s.delta": 15, "_llm.7.rules": 7,
		"_llm.-0.s.delta": 1 << 30, "_llm.+1.s.delta": 1 << 30, "_llm.01.s.delta": 1 << 30,
		"_llm.1": 1 << 30, "_llm..s.delta": 1 << 30, "_llm.x.s.delta": 1 << 30, "_llm.99999999999999999999.s.delta": 1 << 30,
	} {
		if got, _ := partitionOf(subject); got != want {
			t.Errorf("%s: got partition %d, want %d", subject, got, want)
		}
	}
}
