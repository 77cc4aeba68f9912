// Package rewind answers whether the input log is the one that a partition folded,
// and mends a log that lost its end, as a power loss or an older copy of its files can
// do. The server then assigns sequences again, and a sequence is the number of an
// input in event ids, snapshots and checkpoints.
//
// It promises:
//   - Same means that each input of the partition that is in the log and was not
//     folded yet has a sequence that no input of the partition had before. Inputs
//     that were lost are holes, probes, or inputs of other partitions.
//   - Any other verdict holds until the log is mended, also where that was begun and
//     interrupted. Mending it again completes it, without repeating an input.
//   - Nothing that was folded is moved, and the inputs of a session keep their order.
package rewind

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// Evidence is an input that was folded, as far as what was stored afterwards
// identifies it.
type Evidence struct {
	N     uint64    // its sequence
	Token string    // of its session; "" if not known
	At    time.Time // when it was stored; zero if not known
	Until time.Time // where At is zero: it was stored then or earlier; zero if not known
}

// OfEvent returns what an event shows of its input: it was stored at the event's time
// or earlier, as that time never goes back. Where only the headers were read, the time
// at which the event was stored is used.
func OfEvent(s *events.Record) Evidence {
	var body struct {
		At time.Time `json:"timestamp"`
	}
	e := Evidence{N: s.ID.Seq, Token: s.Token, Until: s.At}
	if err := json.Unmarshal(s.Data, &body); err == nil && !body.At.IsZero() {
		e.Until = body.At.Add(time.Millisecond - 1) // it is cut to milliseconds
	}
	return e
}

// when returns the latest time at which the input can have been stored.
func (e *Evidence) when() time.Time {
	if e.At.IsZero() {
		return e.Until
	}
	return e.At
}

// conclusive reports whether the evidence identifies the input. Other evidence, such as
// the position up to which was read, can only show that the log is too short.
func (e *Evidence) conclusive() bool {
	return !e.At.IsZero() || e.Token != "" && !e.Until.IsZero()
}

// Is reports whether an input of the log can be the one that was folded.
func (e *Evidence) Is(in *inputs.Input) bool {
	switch {
	case in.Seq != e.N, in.Kind == inputs.Probe, e.Token != "" && in.Token != e.Token:
		return false
	case !e.At.IsZero():
		return in.At.Equal(e.At)
	}
	return e.Until.IsZero() || !in.At.After(e.Until)
}

// State is the answer to whether the log is the one that was folded.
type State int

// The states of a log.
const (
	Same     State = iota
	Shorter        // it ends before an input that was folded
	Replaced       // inputs of the partition were stored at sequences that others had
)

// Verdict is the state of a log, and what is known of a loss.
type Verdict struct {
	State State
	Need  uint64 // the greatest number that is known: the log must be at least so long
	Last  uint64 // of the log
	// Lost is the newest input that is known and that the log does not have, zero if
	// there is none. It is no sign of a loss where it was deleted.
	Lost Evidence
	// First and Through are the sequences that were assigned twice: all inputs of the
	// partition from First to Through were stored since the loss. 0 if there are none.
	First, Through uint64
}

// Log is what Check reads of the input log.
type Log interface {
	Replicated() bool
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error)
	// FirstAfter returns the first input of a partition that was stored after t.
	FirstAfter(ctx context.Context, p int, t time.Time) (in inputs.Input, ok bool, err error)
}

// Check returns the state of the log for a partition of which the inputs in known, in
// any order, were folded. An answer that reports a loss is confirmed.
func Check(ctx context.Context, log Log, p int, known []Evidence) (v Verdict, err error) {
	known = slices.SortedFunc(slices.Values(known), func(a, b Evidence) int {
		return cmp.Or(cmp.Compare(a.N, b.N), a.when().Compare(b.when()))
	})
	err = Confirm(ctx, log.Replicated(), func() (good bool, err error) {
		v, err = check(ctx, log, p, known)
		return v.State == Same, err
	})
	return v, err
}

// check asks once. known is in order.
func check(ctx context.Context, log Log, p int, known []Evidence) (v Verdict, err error) {
	first, last, err := log.InputBounds(ctx)
	if err != nil || len(known) == 0 {
		return v, err
	}
	v.Need, v.Last = known[len(known)-1].N, last
	for _, e := range slices.Backward(known) {
		if e.N < first || v.First > 0 {
			break
		}
		if !e.conclusive() {
			continue
		}
		in, ok, err := log.Input(ctx, e.N)
		if err != nil {
			return v, err
		}
		if ok && e.Is(&in) {
			break
		}
		if err := v.missing(ctx, log, p, e, in); err != nil {
			return v, err
		}
	}
	switch {
	case v.Need > last:
		v.State = Shorter
	case v.First > 0:
		v.State = Replaced
	}
	return v, nil
}

// missing notes that the log has in, or nothing, in place of the input e.
//
// Sequences and times grow together. So an input of the partition that is younger than e,
// and does not have a greater sequence, was stored after a loss. That needs no input at
// e's sequence, where another partition's may be: what was stored since is found until all
// of it is moved. The input at e's sequence itself shows it even where the server's clock
// went back.
func (v *Verdict) missing(ctx context.Context, log Log, p int, e Evidence, in inputs.Input) error {
	if v.Lost.N == 0 {
		v.Lost = e
		young, ok, err := log.FirstAfter(ctx, p, e.when())
		if err != nil {
			return err
		}
		if ok && young.Seq <= e.N {
			v.First, v.Through = young.Seq, e.N
		}
	}
	if v.First == 0 && in.Seq > 0 && in.Partition == p && !in.Foreign {
		v.First, v.Through = in.Seq, e.N
	}
	return nil
}

// How long an answer that reports a loss is asked for again. A server that was
// cut off from the others answers for some seconds as if it still led them.
const (
	staleTime  = 5 * time.Second
	staleEvery = 250 * time.Millisecond
)

// Confirm asks until the answer is good, or staleTime is over: then the bad one
// holds. A stream without replicas has no outdated leader.
func Confirm(ctx context.Context, replicated bool, ask func() (good bool, err error)) error {
	for end := time.Now().Add(staleTime); ; {
		good, err := ask()
		if err != nil || good || !replicated || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(staleEvery):
		}
	}
}
