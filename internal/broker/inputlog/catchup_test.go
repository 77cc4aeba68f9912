package inputlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ofPartition returns the sequences of a partition's inputs, starting at from.
func ofPartition(all [][]uint64, p int, from uint64) []uint64 {
	i, _ := slices.BinarySearch(all[p], from)
	return all[p][i:]
}

// behind fills a broker whose partitions count as far behind when ten inputs wait, and
// returns the sequences of each partition, read alone.
func behind(t *testing.T, partitions, n int) (testLog, [][]uint64) {
	t.Helper()
	b := start(t, broker.Options{Partitions: partitions})
	fill(t, b, n, 97, []byte(`{}`))
	all := make([][]uint64, partitions)
	for p := range all {
		for _, in := range collect(t, b, p, 1, untilCaughtUp) {
			all[p] = append(all[p], in.Seq)
		}
	}
	if c := b.CatchUps(); c != 0 {
		t.Fatalf("got %d runs where partitions were read one by one, want none", c)
	}
	b.catchUp.from = 10
	return b, all
}

// readTogether reads all partitions at once, each from its own sequence, until it has
// caught up. pause is called with each batch.
func readTogether(t *testing.T, b testLog, all [][]uint64, from []uint64, pause func(p int)) {
	t.Helper()
	var reads sync.WaitGroup
	for p := range all {
		reads.Go(func() {
			var got []uint64
			last := from[p]
			err := b.Inputs(brokertest.Deadline(t), p, from[p], func(batch []inputs.Input, next uint64, caughtUp bool) error {
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

// One consumer reads for partitions that are far behind, and each receives the same
// inputs as alone.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	b, all := behind(t, 4, 5000)
	readTogether(t, b, all, []uint64{1, 1, 1, 1}, func(int) {})
	if c := b.CatchUps(); c == 0 {
		t.Error("got no run")
	}
}

// Where this process reads few of the partitions, each reads alone: one consumer for all
// would deliver too many inputs of other partitions.
func TestCatchUpIsOnlyForMany(t *testing.T) {
	t.Parallel()
	b, all := behind(t, 12, 1000)
	readTogether(t, b, all[:3], []uint64{1, 1, 1}, func(int) {})
	if c := b.CatchUps(); c != 0 {
		t.Errorf("got %d runs, want none", c)
	}
	b.catchUp.gather = time.Second // or they would have to start at nearly the same time
	readTogether(t, b, all[:4], []uint64{1, 1, 1, 1}, func(int) {})
	if b.CatchUps() == 0 {
		t.Error("got no run of a third of them")
	}
}

// A partition whose owner receives nothing does not delay the others, and receives all of
// its inputs later.
func TestCatchUpDropsAStalledMember(t *testing.T) {
	t.Parallel()
	b, all := behind(t, 4, 20_000)
	var others sync.WaitGroup
	others.Add(3)
	done := [4]sync.Once{}
	seen := [4]int{}
	readTogether(t, b, all, []uint64{1, 1, 1, 1}, func(p int) {
		switch seen[p]++; {
		case p == 0 && seen[p] == 2:
			others.Wait()
		case p > 0 && seen[p] == 8: // more than fit into its queue
			done[p].Do(others.Done)
		}
	})
	if c := b.CatchUps(); c == 0 {
		t.Error("got no run")
	}
}

// Each partition receives its inputs once and in order, wherever the partitions start,
// however slow their owners are, and though consumers are deleted.
func TestCatchUpUnderDisturbance(t *testing.T) {
	t.Parallel()
	const n = 4000
	b, all := behind(t, 6, n)
	nc := brokertest.Connect(t, b.Broker)
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
		var disturbed sync.WaitGroup
		disturbed.Go(func() { disturb(ctx, t, nc) })
		readTogether(t, b, all, from, func(p int) {
			if dice[p].IntN(4) == 0 {
				time.Sleep(time.Duration(dice[p].IntN(int(5 * time.Millisecond)))) // a busy owner
			}
		})
		stop()
		disturbed.Wait()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if c := b.CatchUps(); c == 0 {
		t.Error("got no run")
	}
}

// disturb deletes all consumers every 30 ms, so that their readers create others.
func disturb(ctx context.Context, t *testing.T, nc *nats.Conn) {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			deleteConsumers(t, nc)
		case <-ctx.Done():
			return
		}
	}
}

// deleteConsumers deletes the consumers of the input stream.
func deleteConsumers(t *testing.T, nc *nats.Conn) {
	t.Helper()
	var list struct {
		Consumers []string `json:"consumers"`
	}
	if err := json.Unmarshal(brokertest.Request(t, nc, "$JS.API.CONSUMER.NAMES."+broker.StreamInputs, "{}"), &list); err != nil {
		t.Error(err)
	}
	for _, name := range list.Consumers {
		// It fails where the reader deleted the consumer first.
		_, _ = nc.Request("$JS.API.CONSUMER.DELETE."+broker.StreamInputs+"."+name, nil, brokertest.Within)
	}
}

// An input that was deleted does not count as lost.
func TestCatchUpSkipsDeletedInputs(t *testing.T) {
	t.Parallel()
	b, all := behind(t, 2, 5000)
	nc := brokertest.Connect(t, b.Broker)
	for p := range all {
		gone := len(all[p]) / 2
		brokertest.Request(t, nc, "$JS.API.STREAM.MSG.DELETE."+broker.StreamInputs, fmt.Sprintf(`{"seq":%d}`, all[p][gone]))
		all[p] = slices.Delete(all[p], gone, gone+1)
	}
	readTogether(t, b, all, []uint64{1, 1}, func(int) {})
	if c := b.CatchUps(); c != 1 {
		t.Errorf("got %d runs, want one that continues", c)
	}
}

// Where inputs expire before they are read, every member reports them as lost, and
// receives no later input.
func TestCatchUpReportsLostInputs(t *testing.T) {
	t.Parallel()
	const first = 15_000
	b, all := behind(t, 4, 20_000)
	var once sync.Once
	var reads sync.WaitGroup
	for p := range all {
		reads.Go(func() {
			last := uint64(0)
			err := b.Inputs(brokertest.Deadline(t), p, 1, func(batch []inputs.Input, _ uint64, caughtUp bool) error {
				if len(batch) > 0 {
					last = batch[len(batch)-1].Seq
				}
				if b.CatchUps() > 0 {
					once.Do(func() {
						purge(t, b, fmt.Sprintf(`{"seq":%d}`, first))
					})
				}
				if caughtUp {
					return errEnough
				}
				return nil
			})
			var lost *LostError
			if !errors.As(err, &lost) || lost.First != first || lost.From <= last || last >= first {
				t.Errorf("partition %d: got %v after %d, want that inputs from there to %d are lost", p, err, last, first)
			}
		})
	}
	reads.Wait()
}

// Where few partitions are behind, each reads alone, though the process reads all of them.
func TestCatchUpNeedsMany(t *testing.T) {
	t.Parallel()
	b, all := behind(t, 4, 8000)
	end := all[0][len(all[0])-1]
	readTogether(t, b, all, []uint64{1, end + 1, end + 1, end + 1}, func(int) {})
	if c := b.CatchUps(); c != 0 {
		t.Errorf("got %d runs for one partition, want none", c)
	}

	r, _ := begun(12)
	batch := []broker.Message{{Seq: 1, Subject: "_llm.0.s.delta"}}
	r.joined = 4
	if err := r.dispatch(brokertest.Deadline(t), batch, 1); err != nil {
		t.Errorf("with a third of them: %v", err)
	}
	r.joined, batch[0].Seq = 3, 2
	if err := r.dispatch(brokertest.Deadline(t), batch, 1); !errors.Is(err, broker.ErrStop) {
		t.Errorf("with fewer: got %v, want %v", err, broker.ErrStop)
	}
}

// Partitions that are far from the others read alone.
func TestCatchUpOfNeighbours(t *testing.T) {
	positions := []uint64{1, 2 * catchUpSpan, 2*catchUpSpan + 5, 3 * catchUpSpan, 3*catchUpSpan + 6}
	var gathered []*member
	for p, next := range positions {
		gathered = append(gathered, &member{partition: p, next: next, parts: make(chan part)})
	}
	r := newRun(newCatchUp(nil, len(positions)), slices.Clone(gathered))
	for p, want := range []bool{false, true, true, true, false} {
		if got := r.members[p] == gathered[p]; got != want {
			t.Errorf("partition at %d is a member: got %v, want %v", positions[p], got, want)
		}
	}
	if r.joined != 3 || r.next != positions[1] || r.top != positions[3] {
		t.Errorf("got %d members from %d to %d", r.joined, r.next, r.top)
	}
	<-gathered[0].parts // closed
}

// Where the server forbids a consumer without a filter, the partitions read on alone and
// no run begins for a while.
func TestCatchUpWithoutPermission(t *testing.T) {
	t.Parallel()
	s := brokertest.NewServer(t)
	s.Stop()
	s.Options.NoAuthUser = "local"
	s.Options.Users = []*server.User{{Username: "local", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.CREATE." + broker.StreamInputs + ".*"}},
	}}}
	s.Start()
	b := start(t, broker.Options{URL: s.URL(), Partitions: 2})
	fill(t, b, 4000, 97, []byte(`{}`))
	b.catchUp.from, b.catchUp.gather = 10, time.Second
	var reads sync.WaitGroup
	for p := range 2 {
		reads.Go(func() { collect(t, b, p, 1, untilCaughtUp) })
	}
	reads.Wait()
	if c := b.CatchUps(); c != 1 {
		t.Errorf("got %d runs, want one", c)
	}
}

// begun returns a run that does not read, from 1 on, and its members.
func begun(partitions int) (*run, []*member) {
	var members []*member
	for p := range partitions {
		members = append(members, &member{partition: p, next: 1, parts: make(chan part, memberParts)})
	}
	return newRun(newCatchUp(nil, partitions), slices.Clone(members)), members
}

// A partition without inputs among many receives a position from time to time and at the
// end.
func TestCatchUpReportsProgress(t *testing.T) {
	r, members := begun(2)
	for seq := uint64(1); seq <= progressEvery+2; seq++ {
		r.next = seq + 1
		r.sendAll(t.Context(), []broker.Message{{Seq: seq, Subject: "_llm.1.s.delta"}}, seq == progressEvery+2)
		if got := len((<-members[1].parts).batch); got != 1 {
			t.Fatalf("got %d inputs, want each", got)
		}
	}
	for _, want := range []uint64{progressEvery + 1, progressEvery + 3} {
		if p := <-members[0].parts; len(p.batch) != 0 || p.next != want {
			t.Errorf("got %d inputs up to %d, want none up to %d", len(p.batch), p.next, want)
		}
	}
}

// However many members receive nothing, the others wait for them once.
func TestCatchUpWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, members := begun(8)
		began := time.Now()
		for seq := range uint64(memberParts + 1) {
			var batch []broker.Message
			for p := range members {
				batch = append(batch, broker.Message{Seq: seq, Subject: fmt.Sprintf("_llm.%d.s.delta", p)})
			}
			r.sendAll(t.Context(), batch, false)
		}
		if took := time.Since(began); took != dispatchTimeout || r.joined != 0 {
			t.Errorf("waited for %v, and %d members are left, want %v and none", took, r.joined, dispatchTimeout)
		}
	})
}

// A member that is further on than the stream now reaches would miss the inputs that are
// stored there. So would one in a run whose consumer was lost, with its server.
func TestCatchUpOfALostEnd(t *testing.T) {
	b := start(t, broker.Options{Partitions: 2})
	fill(t, b, 10, 2, nil)
	for _, c := range []struct {
		top     uint64
		created bool
		want    error
	}{{11, false, nil}, {12, false, broker.ErrStop}, {11, true, broker.ErrStop}} {
		t.Run(fmt.Sprint(c.top, " ", c.created), func(t *testing.T) {
			r, _ := begun(2)
			r.c.l, r.top, r.created = b.Log, c.top, c.created
			if err := r.position(brokertest.Deadline(t), 5); !errors.Is(err, c.want) {
				t.Errorf("with a member at %d, consumer created %v: got %v, want %v", c.top, c.created, err, c.want)
			}
		})
	}
}

func TestPartitionOf(t *testing.T) {
	for subject, want := range map[string]int{
		"_llm.0.s.delta": 0, "_llm.15.s.delta": 15, "_llm.7.rules": 7,
		"_llm.-0.s.delta": 1 << 30, "_llm.+1.s.delta": 1 << 30, "_llm.01.s.delta": 1 << 30,
		"_llm.1": 1 << 30, "_llm..s.delta": 1 << 30, "_llm.x.s.delta": 1 << 30, "_llm.99999999999999999999.s.delta": 1 << 30,
	} {
		t.Run(subject, func(t *testing.T) {
			if got, _ := partitionOf(subject); got != want {
				t.Errorf("%s: got partition %d, want %d", subject, got, want)
			}
		})
	}
}
