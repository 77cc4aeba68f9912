package inputlog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

// maxBatch is the maximum size of a batch.
const maxBatch = 500

// collect reads a partition until enough returns true.
func collect(t *testing.T, b testLog, p int, from uint64, enough func(all []inputs.Input, next uint64, caughtUp bool) bool) []inputs.Input {
	t.Helper()
	var all []inputs.Input
	err := b.Inputs(brokertest.Deadline(t), p, from, func(batch []inputs.Input, next uint64, caughtUp bool) error {
		if len(batch) > maxBatch {
			t.Errorf("a batch of %d inputs, want at most %d", len(batch), maxBatch)
		}
		all = append(all, batch...)
		if enough(all, next, caughtUp) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("Inputs of partition %d from %d: %v after %d inputs", p, from, err, len(all))
	}
	return all
}

func untilCaughtUp(_ []inputs.Input, _ uint64, caughtUp bool) bool { return caughtUp }

func TestInputs(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			b := start(t, broker.Options{Partitions: partitions})
			fill(t, b, 3000, 50, []byte(`{}`))
			total := 0
			for p := range partitions {
				all := collect(t, b, p, 1, untilCaughtUp)
				total += len(all)
				last := uint64(0)
				for _, in := range all {
					if in.Seq <= last || in.Foreign || in.Partition != p || in.Kind != inputs.Delta || b.Partition(in.Token) != p || string(in.Data) != `{}` || time.Since(in.At) > time.Minute {
						t.Fatalf("partition %d: got %+v after sequence %d", p, in, last)
					}
					last = in.Seq
				}
				if len(all) < 2 {
					continue
				}
				// From the middle on it is the second half.
				half := all[len(all)/2:]
				again := collect(t, b, p, half[0].Seq, untilCaughtUp)
				if len(again) != len(half) || again[0].Seq != half[0].Seq {
					t.Errorf("from %d: got %d inputs, want %d", half[0].Seq, len(again), len(half))
				}
			}
			if total != 3000 {
				t.Errorf("got %d inputs over all partitions, want 3000", total)
			}
		})
	}
}

func TestInputKinds(t *testing.T) {
	b := start(t, broker.Options{Partitions: 4})
	p := b.Partition("s")
	wrong := (p + 1) % 4
	for _, pub := range []*broker.Pub{
		b.InputPub("s", inputs.Result, "1", inputs.Header{"Streamer-Format": {"x"}}, nil),
		b.ClockPub("s", "2", nil),
		b.RulesPub(p, "3", nil),
		{Subject: fmt.Sprintf("_llm.%d.s.delta", wrong)},
		{Subject: fmt.Sprintf("_llm.%d.s.nonsense", p)},
		{Subject: fmt.Sprintf("_llm.%d.s.delta.more", p)},
	} {
		brokertest.Must(t, b.Broker, pub)
	}
	var got []string
	for _, part := range []int{p, wrong} {
		for _, in := range collect(t, b, part, 1, untilCaughtUp) {
			got = append(got, fmt.Sprint(in.Seq, in.Token, in.Kind, in.Foreign, in.Header.Get("Streamer-Format")))
		}
	}
	want := []string{"1 s result false x", "2 s clock false ", "3  rules false ", "5  true", "6  true", "4 s delta true"}
	for i := range want {
		want[i] = compact(want[i])
	}
	for i := range got {
		got[i] = compact(got[i])
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func compact(s string) string {
	out := ""
	for _, r := range s {
		if r != ' ' {
			out += string(r)
		}
	}
	return out
}

func TestInputsOfAnEmptyStreamThenLive(t *testing.T) {
	b := start(t, broker.Options{Partitions: 4})
	p := b.Partition("s")
	calls := 0
	all := collect(t, b, p, 1, func(all []inputs.Input, next uint64, caughtUp bool) bool {
		if calls++; calls == 1 {
			if len(all) != 0 || next != 1 || !caughtUp {
				t.Errorf("first call: got %d inputs, next %d, caught up %v, want none, 1, true", len(all), next, caughtUp)
			}
			b.Publish(b.InputPub("s", inputs.End, "1", nil, nil), make(chan broker.Ack, 1))
		}
		return len(all) == 1
	})
	if all[0].Seq != 1 || all[0].Kind != inputs.End {
		t.Errorf("got %+v", all[0])
	}
}

// A partition's position moves past the inputs of other partitions, so that they do not
// count as lost when they expire.
func TestPositionOfAnIdlePartition(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 4})
	fill(t, b, 10, 1, nil) // all of session s0
	idle := (b.Partition("s0") + 1) % 4
	collect(t, b, idle, 1, func(all []inputs.Input, next uint64, caughtUp bool) bool {
		if len(all) != 0 || next != 11 || !caughtUp {
			t.Errorf("got %d inputs, next %d, caught up %v, want none, 11, true", len(all), next, caughtUp)
		}
		return true
	})
	// That of the busy partition does not.
	collect(t, b, b.Partition("s0"), 1, func(all []inputs.Input, next uint64, caughtUp bool) bool {
		if next != uint64(len(all))+1 {
			t.Errorf("after %d inputs: next is %d", len(all), next)
		}
		return caughtUp
	})
}

func TestInputsLost(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 2})
	fill(t, b, 10, 5, nil)
	purge(t, b, `{"seq":6}`)
	nothing := func([]inputs.Input, uint64, bool) error { return errEnough }
	var lost *LostError
	if err := b.Inputs(brokertest.Deadline(t), 0, 5, nothing); !errors.As(err, &lost) || lost.From != 5 || lost.First != 6 {
		t.Errorf("from 5 where the stream begins at 6: got %v", err)
	}
	if err := b.Inputs(brokertest.Deadline(t), 0, 6, nothing); !errors.Is(err, errEnough) {
		t.Errorf("from 6 where the stream begins at 6: got %v", err)
	}
	var ahead *AheadError
	if err := b.Inputs(brokertest.Deadline(t), 0, 12, nothing); !errors.As(err, &ahead) || ahead.From != 12 || ahead.Last != 10 {
		t.Errorf("from 12 where the stream ends at 10: got %v", err)
	}
	if first, last, err := b.InputBounds(brokertest.Deadline(t)); first != 6 || last != 10 || err != nil {
		t.Errorf("bounds: got %d, %d, %v, want 6, 10", first, last, err)
	}
}

// Inputs that expire before they are read are reported as lost, and no later input is
// delivered.
func TestLostWhileReading(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 2})
	fill(t, b, 5000, 5, make([]byte, 2000))
	p := b.Partition("s0")
	position := uint64(0)
	err := b.Inputs(brokertest.Deadline(t), p, 1, func(_ []inputs.Input, next uint64, caughtUp bool) error {
		if caughtUp {
			return errEnough
		}
		position = next
		b.age = 1 // so that all of them are old
		purge(t, b, `{"seq":4000}`)
		return nil
	})
	var lost *LostError
	if !errors.As(err, &lost) || lost.First != 4000 || lost.From < position {
		t.Errorf("got %v at %d, want that inputs from there, or behind those in hand, to 4000 are lost", err, position)
	}
}

// Inputs that were stored and expired while the process was suspended are reported as
// lost by every check of the position.
func TestLostWhileQuiet(t *testing.T) {
	b := start(t, broker.Options{Partitions: 2})
	fill(t, b, 100, 5, nil)
	p := b.Partition("s0")
	purge(t, b, `{"seq":101}`)
	nothing := func([]inputs.Input, uint64, bool) error { t.Error("something is delivered"); return nil }
	r := &reader{l: b.Log, partition: p, last: 3, next: 4, caughtUp: true, deliver: nothing}
	_, err := b.InputPosition(brokertest.Deadline(t), p, 4)
	for _, err := range []error{err, r.idle(brokertest.Deadline(t)), r.position(brokertest.Deadline(t), 4)} {
		var lost *LostError
		if !errors.As(err, &lost) || lost.From != 4 || lost.First != 101 {
			t.Errorf("got %v, want that inputs from 4 to 101 are lost", err)
		}
	}
}

// A partition whose waiting inputs are deleted has caught up, and reports that without an
// input.
func TestWaitingIsDeleted(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 2})
	fill(t, b, 8000, 5, nil)
	p := b.Partition("s0")
	purged := false
	collect(t, b, p, 1, func(_ []inputs.Input, next uint64, caughtUp bool) bool {
		if !purged {
			purged = true
			purge(t, b, `{"filter":"`+partitionRoot(p)+`>"}`)
		}
		return caughtUp && next == 8001
	})
}

// Inputs that expire after they were sent to the reader are not lost.
func TestInHandIsNotLost(t *testing.T) {
	b := start(t, broker.Options{Partitions: 1})
	b.age = 1 // so that all of them are old
	fill(t, b, 10, 5, nil)
	purge(t, b, `{"seq":8}`)
	r := &reader{l: b.Log, last: 3, next: 4}
	for _, step := range []struct {
		batch []broker.Message
		from  uint64 // first lost input, 0 if none
	}{
		{[]broker.Message{{Seq: 4}, {Seq: 5}}, 0},
		{[]broker.Message{{Seq: 4}, {Seq: 8}}, 5},
		{[]broker.Message{{Seq: 8}}, 4},
	} {
		err := r.intact(brokertest.Deadline(t), step.batch)
		lost := (*LostError)(nil)
		if errors.As(err, &lost) != (step.from != 0) || lost != nil && (lost.From != step.from || lost.First != 8) {
			t.Errorf("%+v after 3 in a stream that begins at 8: got %v, want that those from %d on are lost", step.batch, err, step.from)
		}
	}
}

// Where there are replicas, an answer of the stream's leader moves a partition's position
// only to where the stream ended so long ago that the answer cannot be outdated.
func TestOutdatedLeader(t *testing.T) {
	b := start(t, broker.Options{Partitions: 2})
	fill(t, b, 10, 1, nil)
	b.replicated = true
	r := &reader{l: b.Log, partition: 1 - b.Partition("s0"), next: 1, caughtUp: true, deliver: func([]inputs.Input, uint64, bool) error { return nil }}
	idle := func(want uint64) {
		t.Helper()
		if err := r.idle(brokertest.Deadline(t)); err != nil || r.next != want {
			t.Errorf("got %v and position %d, want %d", err, r.next, want)
		}
	}
	idle(1)
	fill(t, b, 20, 1, nil) // 10 of them are new
	idle(1)
	r.looked.at = r.looked.at.Add(-broker.StaleTime)
	idle(11)
	idle(11)
	r.looked.at = r.looked.at.Add(-broker.StaleTime)
	idle(21)
}

// Inputs that the leader has and the consumer's replica lacks are read again.
func TestReplicaLacksInputs(t *testing.T) {
	b := start(t, broker.Options{Partitions: 1})
	b.age = 1 // so that all of them are old
	fill(t, b, 10, 5, nil)
	r := &reader{l: b.Log, last: 3, next: 4}
	if err := r.intact(brokertest.Deadline(t), []broker.Message{{Seq: 8}}); !errors.Is(err, errMissed) {
		t.Errorf("got %v, want %v", err, errMissed)
	}
}

// Inputs of other partitions that expire while a partition is idle are not lost to it.
func TestQuietIsNoLoss(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 2})
	b.age = 1 // so that every input is taken for an old one
	quiet := 1 - b.Partition("s0")
	token := ""
	for i := 0; token == "" || b.Partition(token) != quiet; i++ {
		token = fmt.Sprint("q", i)
	}
	all := collect(t, b, quiet, 1, func(all []inputs.Input, next uint64, _ bool) bool {
		switch next {
		case 1:
			fill(t, b, 10, 1, nil)
		case 11: // the position is after them, and they expire
			purge(t, b, `{"seq":11}`)
			brokertest.Must(t, b.Broker, b.InputPub(token, inputs.End, "end", nil, nil))
		}
		return len(all) > 0
	})
	if len(all) != 1 || all[0].Seq != 11 {
		t.Errorf("got %+v, want the one input of the partition", all)
	}
}

func TestInputsEndWithTheirContext(t *testing.T) {
	b := start(t, broker.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	err := b.Inputs(ctx, 0, 1, func([]inputs.Input, uint64, bool) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Neither the limit in bytes of a request nor a message above half of it stops the reader.
func TestLargeInputs(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{Partitions: 1})
	fill(t, b, 40, 3, make([]byte, 900<<10))
	all := collect(t, b, 0, 1, untilCaughtUp)
	if len(all) != 40 {
		t.Errorf("got %d inputs, want 40", len(all))
	}
}

// Restarts of the server while a partition is read cause no gap and no duplicate.
func TestInputsThroughRestarts(t *testing.T) {
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL(), Partitions: 2})
	const n, restarts = 400, 3
	acks := make(chan broker.Ack, n)
	send := func(from, to int) {
		for i := from; i < to; i++ {
			b.Publish(b.InputPub("s", inputs.Delta, fmt.Sprint("m", i), nil, nil), acks)
		}
	}
	send(0, n/(restarts+1))
	last := uint64(0)
	restarted := 0
	all := collect(t, b, b.Partition("s"), 1, func(all []inputs.Input, _ uint64, _ bool) bool {
		for _, in := range all[last:] {
			if in.Seq != last+1 {
				t.Errorf("got sequence %d after %d", in.Seq, last)
			}
			last++
		}
		if len(all) == (restarted+1)*n/(restarts+1) && restarted < restarts {
			restarted++
			s.Stop()
			send(restarted*n/(restarts+1), (restarted+1)*n/(restarts+1))
			s.Start()
		}
		return len(all) == n
	})
	if len(all) != n || restarted != restarts {
		t.Errorf("got %d inputs over %d restarts, want %d over %d", len(all), restarted, n, restarts)
	}
}

func BenchmarkInputs(b *testing.B) {
	br := start(b, broker.Options{Partitions: 1})
	const stored = 50_000
	fill(b, br, stored, 1000, make([]byte, 300))
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := 0
		err := br.Inputs(context.Background(), 0, 1, func(batch []inputs.Input, _ uint64, caughtUp bool) error {
			if n += len(batch); n >= left || caughtUp {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			b.Fatal(err)
		}
		left -= n
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "inputs/s")
}
