// Package rewind answers whether the input log is the one that a partition folded,
// and repairs a log that lost its end, as a power loss or an older copy of its files can
// do. The server then assigns sequences again, and a sequence is the number of an
// input in event ids, snapshots and checkpoints.
//
// It promises:
//   - Same means that each input of the partition that is in the log and was not
//     folded yet has a sequence that no input of the partition had before. Inputs
//     that were lost are holes, probes, or inputs of other partitions.
//   - Any other verdict holds until the log is repaired, also where that was begun and
//     interrupted. Repairing it again completes it, without repeating an input.
//   - Nothing that was folded is moved, and the inputs of a session keep their order.
package rewind

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
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

// EventEvidence returns what an event shows of its input: it was stored at the event's time
// or earlier, as that time never goes back. When the event was stored shows nothing: that is
// the time of another clock.
func EventEvidence(s *events.Record) Evidence {
	var body struct {
		At time.Time `json:"timestamp"`
	}
	e := Evidence{N: s.ID.Seq, Token: s.Token}
	if err := json.Unmarshal(s.Data, &body); err == nil && !body.At.IsZero() {
		e.Until = body.At.Add(time.Millisecond - 1) // it is cut to milliseconds
	}
	return e
}

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
	case in.Seq != e.N, e.Token != "" && in.Token != e.Token:
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

// Same reports whether the log is the one that was folded.
func (v *Verdict) Same() bool { return v.State == Same }

// String returns what was found.
func (v *Verdict) String() string {
	switch v.State {
	case Shorter:
		return fmt.Sprintf("input %d was folded, and the log ends at %d", v.Need, v.Last)
	case Replaced:
		return fmt.Sprintf("inputs that were folded are no longer there, and others were stored at their sequences, from %d to %d", v.First, v.Through)
	}
	return "it is the one that was folded"
}

// Log is what Check reads of the input log.
type Log interface {
	Replicated() bool
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error)
	// InputAfter returns the sequence of the first input that was stored after t, or the
	// one after the log's last.
	InputAfter(ctx context.Context, t time.Time) (seq uint64, err error)
	// NextInput returns the first input of a partition at a sequence or after it.
	NextInput(ctx context.Context, p int, seq uint64) (in inputs.Input, ok bool, err error)
}

// Check returns the state of the log for a partition of which the inputs in known, in
// any order, were folded. An answer that reports a loss is confirmed.
func Check(ctx context.Context, log Log, p int, known []Evidence) (v Verdict, err error) {
	known = slices.SortedFunc(slices.Values(known), func(a, b Evidence) int {
		return cmp.Or(cmp.Compare(a.N, b.N), a.when().Compare(b.when()))
	})
	err = broker.Confirm(ctx, log.Replicated(), func() (good bool, err error) {
		v, err = check(ctx, log, p, known)
		return v.Same(), err
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
	var same, lowest uint64
	for _, e := range slices.Backward(known) {
		if e.N < first || same > 0 {
			break
		}
		if !e.conclusive() {
			continue
		}
		in, ok, err := log.Input(ctx, e.N)
		switch {
		case err != nil:
			return v, err
		case ok && e.Is(&in):
			same = e.N
			continue
		case v.Lost.N == 0:
			v.Lost = e
		}
		lowest = e.N
	}
	if v.Lost.N > 0 {
		if err := v.find(ctx, log, p, same, lowest); err != nil {
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

// find finds the sequences that were assigned twice. Those assigned since the loss begin
// with the first input that is younger than the newest lost one, behind the last input
// that is known to be the same, and not behind the first one that is known to be missing:
// these bounds hold also where the server's clock went back. They end with the newest lost
// one. What other partitions have there does no harm.
//
// This is a fact of the log alone, and is so until the last of these inputs is moved. The
// inputs at the sequences of lost ones need not be there for it.
func (v *Verdict) find(ctx context.Context, log Log, p int, same, lowest uint64) error {
	young, err := log.InputAfter(ctx, v.Lost.when())
	if err != nil {
		return err
	}
	in, ok, err := log.NextInput(ctx, p, max(same+1, min(young, lowest)))
	if err == nil && ok && in.Seq <= v.Lost.N {
		v.First, v.Through = in.Seq, v.Lost.N
	}
	return err
}

// ErrOther is returned where the log does not have the input that was read of it.
var ErrOther = errors.New("rewind: the input log is not the one that was read")

// Verify returns an error that wraps ErrOther if the log has another input, or none yet, in
// place of one that was read. One that expired or was deleted proves nothing.
func Verify(ctx context.Context, log Log, read Evidence) error {
	if read.N == 0 {
		return nil
	}
	same := false
	err := broker.Confirm(ctx, log.Replicated(), func() (bool, error) {
		_, last, err := log.InputBounds(ctx)
		if err != nil || read.N > last {
			return false, err
		}
		in, ok, err := log.Input(ctx, read.N)
		same = !ok || read.Is(&in)
		return same, err
	})
	if err == nil && !same {
		err = fmt.Errorf("%w: input %d", ErrOther, read.N)
	}
	return err
}
