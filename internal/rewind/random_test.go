package rewind

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// memoryLog is an input log in memory. Its time is the number of changes, in
// milliseconds.
type memoryLog struct {
	rnd   *rand.Rand
	now   time.Time
	last  uint64
	at    map[uint64]inputs.Input
	left  int            // changes until the process dies; below 0 it is dead
	order map[string]int // number of inputs that clients published, by session
}

func newMemoryLog(seed uint64) *memoryLog {
	return &memoryLog{rnd: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(1, 0), at: map[uint64]inputs.Input{}, order: map[string]int{}, left: 1 << 30}
}

// sessions of the partitions 0 and 1.
var sessions = [...]string{"a0", "b0", "c0", "d1", "e1"}

func partitionOf(token string) int { return int(token[len(token)-1] - '0') }

func (l *memoryLog) store(in inputs.Input) inputs.Input {
	l.now = l.now.Add(time.Millisecond)
	l.last++
	in.Seq, in.At = l.last, l.now
	l.at[in.Seq] = in
	return in
}

// client stores the next input of a random session.
func (l *memoryLog) client() inputs.Input {
	token := sessions[l.rnd.IntN(len(sessions))]
	l.order[token]++
	return l.store(inputs.Input{Token: token, Kind: inputs.Delta, Partition: partitionOf(token), Subject: token, Data: fmt.Appendf(nil, "%s %03d", token, l.order[token])})
}

func (l *memoryLog) Replicated() bool { return false }

func (l *memoryLog) InputBounds(context.Context) (first, last uint64, err error) {
	return 1, l.last, nil
}

func (l *memoryLog) Input(_ context.Context, seq uint64) (inputs.Input, bool, error) {
	in, ok := l.at[seq]
	return in, ok, nil
}

func (l *memoryLog) InputAfter(_ context.Context, t time.Time) (uint64, error) {
	for _, seq := range slices.Sorted(maps.Keys(l.at)) {
		if in := l.at[seq]; in.At.After(t) {
			return seq, nil
		}
	}
	return l.last + 1, nil
}

func (l *memoryLog) NextInput(_ context.Context, p int, from uint64) (inputs.Input, bool, error) {
	if all := l.of(p, from); len(all) > 0 {
		return all[0], true, nil
	}
	return inputs.Input{}, false, nil
}

// of returns the inputs of a partition from a sequence on.
func (l *memoryLog) of(p int, from uint64) (list []inputs.Input) {
	for _, seq := range slices.Sorted(maps.Keys(l.at)) {
		if in := l.at[seq]; seq >= from && in.Kind != inputs.Probe && in.Partition == p {
			list = append(list, in)
		}
	}
	return list
}

func (l *memoryLog) InputsFrom(_ context.Context, p int, from uint64, _ bool, deliver func([]inputs.Input) error) error {
	for batch := range slices.Chunk(l.of(p, from), 3) {
		if err := deliver(batch); err != nil {
			return err
		}
	}
	return nil
}

// changed reports whether the process lives, and lets clients publish.
func (l *memoryLog) changed() bool {
	if l.left--; l.rnd.IntN(4) == 0 {
		l.client()
	}
	return l.left >= 0
}

func (l *memoryLog) Publish(p *broker.Pub, acks chan<- broker.Ack) {
	a := broker.Ack{Pub: p}
	in := inputs.Input{Kind: inputs.Probe, Partition: -1}
	if p.Subject != broker.SubjectProbe {
		in = inputs.Input{Token: p.Subject, Kind: inputs.Delta, Partition: partitionOf(p.Subject), Subject: p.Subject, Data: p.Data, Header: inputs.Header(p.Header)}
	}
	if l.changed() {
		a.Seq = l.store(in).Seq
	} else {
		a.Err = errDead
	}
	acks <- a
}

func (l *memoryLog) DeleteInput(_ context.Context, seq uint64) error {
	if !l.changed() {
		return errDead
	}
	delete(l.at, seq)
	return nil
}

// TestRandomLosses plays random losses, what is stored since, evidence of some of the
// inputs, and commands that die.
func TestRandomLosses(t *testing.T) {
	states := map[State]int{}
	for seed := range uint64(testkit.Of(2000, 20_000)) {
		l := newMemoryLog(seed)
		kept := map[uint64]inputs.Input{}
		for range l.rnd.IntN(10) {
			in := l.client()
			kept[in.Seq] = in
		}
		known := []Evidence{}
		know := func(in inputs.Input) {
			known = append(known, Evidence{N: in.Seq, Token: in.Token, At: in.At})
		}
		for _, in := range kept {
			if in.Partition == 0 && l.rnd.IntN(2) == 0 {
				know(in)
			}
		}
		cut, order := l.last, maps.Clone(l.order)
		var top inputs.Input // the newest of the partition that was folded is known
		for range l.rnd.IntN(8) {
			if in := l.client(); in.Partition == 0 {
				top = in
				if l.rnd.IntN(2) == 0 {
					know(in)
				}
			}
		}
		if top.Seq > 0 {
			know(top)
		}
		maps.DeleteFunc(l.at, func(seq uint64, _ inputs.Input) bool { return seq > cut })
		l.last, l.order = cut, order
		for range l.rnd.IntN(12) {
			l.client()
		}
		v, err := Check(t.Context(), l, 0, known)
		if err != nil {
			t.Fatal(err)
		}
		states[v.State]++
		for try := 0; ; try++ {
			l.left = l.rnd.IntN(40) << min(try, 10)
			_, err := Repair(t.Context(), l, 0, known, false)
			if v, _ := Check(t.Context(), l, 0, known); v.Same() {
				if wrong := l.wrong(kept, cut, top.Seq); wrong != "" {
					t.Fatalf("seed %d, try %d, %v: %s", seed, try, err, wrong)
				}
			}
			if err == nil {
				break
			}
			for range l.rnd.IntN(3) {
				l.client()
			}
		}
		if v, err := Check(t.Context(), l, 0, known); err != nil || !v.Same() {
			t.Fatalf("seed %d: got %+v, %v after the repair, want the same", seed, v, err)
		}
	}
	t.Logf("same, shorter, replaced: %v", states)
}

// wrong returns what is wrong with a log that was repaired: kept are the inputs up to
// cut, which were not lost, and top the newest that was folded.
func (l *memoryLog) wrong(kept map[uint64]inputs.Input, cut, top uint64) string {
	for seq, in := range kept {
		if got := l.at[seq]; string(got.Data) != string(in.Data) {
			return fmt.Sprintf("input %d is %q, want %q, as it was", seq, got.Data, in.Data)
		}
	}
	next := map[string]int{}
	for _, in := range append(l.of(0, 1), l.of(1, 1)...) {
		if in.Partition == 0 && in.Seq > cut && in.Seq <= top {
			return fmt.Sprintf("input %q is at %d, which another had", in.Data, in.Seq)
		}
		next[in.Token]++
		if want := fmt.Sprintf("%s %03d", in.Token, next[in.Token]); string(in.Data) != want {
			return fmt.Sprintf("input %d is %q, want %q", in.Seq, in.Data, want)
		}
	}
	for token, n := range l.order {
		if next[token] != n {
			return fmt.Sprintf("session %s has %d inputs, want %d", token, next[token], n)
		}
	}
	return ""
}
