// Package rewind answers whether an input log is the one that was read before. A server
// that lost power, or whose files were restored from a copy, can come back with a shorter
// log and assigns the sequences of the lost inputs again.
package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// Log is the input log.
type Log interface {
	Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error)
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Replicated() bool
}

// Evidence is an input that was folded, as far as what was stored afterwards identifies
// it.
type Evidence struct {
	N     uint64    // its sequence
	Token string    // of its session; "" if not known
	At    time.Time // when it was stored; zero if not known
	Until time.Time // where At is zero: it was stored then or earlier; zero if not known
}

// EventEvidence returns what an event shows of its input: it was stored at the event's
// time or earlier, as that time never goes back. Where only the headers were read, the
// time at which the event was stored is used.
func EventEvidence(e *events.Record) Evidence {
	var body struct {
		At time.Time `json:"timestamp"`
	}
	v := Evidence{N: e.ID.Seq, Token: e.Token, Until: e.At}
	if err := json.Unmarshal(e.Data, &body); err == nil && !body.At.IsZero() {
		v.Until = body.At.Add(time.Millisecond - 1) // it is cut to milliseconds
	}
	return v
}

// identifies reports whether the evidence identifies the input. Of others only the
// sequence is known: they can only show that the log is too short.
func (e *Evidence) identifies() bool { return e.Token != "" || !e.At.IsZero() }

// same reports whether a stored input is that of the evidence.
func (e *Evidence) same(in *inputs.Input) bool {
	switch {
	case e.Token != "" && in.Token != e.Token:
		return false
	case !e.At.IsZero():
		return in.At.Equal(e.At)
	}
	return e.Until.IsZero() || !in.At.After(e.Until)
}

// Verdict is the answer of Check. The zero value is that the log is the same.
type Verdict struct {
	// Need is the greatest sequence that was folded, where the log ends before it.
	Need uint64
	// Other is the newest evidence whose input the log does not have, where it has another
	// one in its place.
	Other Evidence
}

// Same reports whether the log is the same.
func (v *Verdict) Same() bool { return *v == Verdict{} }

// String returns what was found.
func (v Verdict) String() string {
	if v.Need > 0 {
		return fmt.Sprintf("input %d was folded, and the log ends before it", v.Need)
	}
	return fmt.Sprintf("input %d is not the one that was folded", v.Other.N)
}

// Check compares an input log with inputs that are known to have been folded. The newest
// evidence decides: all inputs before one that is the same are the same. An input that
// was deleted or has expired proves nothing.
func Check(ctx context.Context, log Log, known []Evidence) (v Verdict, err error) {
	known = slices.Clone(known)
	slices.SortStableFunc(known, func(a, b Evidence) int { return int(min(1, max(-1, int64(b.N)-int64(a.N)))) })
	err = Confirm(ctx, log.Replicated(), func() (bool, error) {
		v, err = check(ctx, log, known)
		return v.Same(), err
	})
	return v, err
}

// check is Check by one answer of the server. known is in order, the newest first.
func check(ctx context.Context, log Log, known []Evidence) (v Verdict, err error) {
	first, last, err := log.InputBounds(ctx)
	if err != nil {
		return v, err
	}
	for i := range known {
		e := &known[i]
		switch {
		case e.N > last:
			return Verdict{Need: e.N}, nil
		case e.N < first:
			return v, nil
		case !e.identifies():
			continue
		}
		in, ok, err := log.Input(ctx, e.N)
		switch {
		case err != nil:
			return v, err
		case ok && in.Kind == inputs.Probe, !ok: // padded, deleted
		case !e.same(&in):
			return Verdict{Other: *e}, nil
		default:
			return v, nil
		}
	}
	return v, nil
}

// Confirm asks until the answer is good, or a server that was cut off from the others
// would not answer any more: then the bad answer holds. A log without replicas has no
// outdated servers.
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

// How long an answer that reports a loss is asked for again. A server that was
// cut off from the others answers for some seconds as if it still led them.
const (
	staleTime  = 5 * time.Second
	staleEvery = 250 * time.Millisecond
)

// ErrOther is returned where the log does not have the inputs that were read of it.
var ErrOther = errors.New("rewind: the input log is not the one that was read")

// Verify returns an error that wraps ErrOther if the log is not the same.
func Verify(ctx context.Context, log Log, read Evidence) error {
	if read.N == 0 {
		return nil
	}
	v, err := Check(ctx, log, []Evidence{read})
	if err == nil && !v.Same() {
		err = fmt.Errorf("%w: %s", ErrOther, v)
	}
	return err
}
