package worker

import (
	"context"
	"encoding/json"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// evidence is an input that was folded, as far as what was stored afterwards
// identifies it.
type evidence struct {
	n     uint64    // number under which it was folded
	token string    // of its session; "" if not known
	at    time.Time // when it was stored; zero if not known
	until time.Time // where at is zero: it was stored then or earlier
}

// when returns the latest time at which the input can have been stored.
func (e *evidence) when() time.Time {
	if e.at.IsZero() {
		return e.until
	}
	return e.at
}

// conclusive reports whether the evidence identifies the input. One of which neither
// session nor time is known can only show that the log is too short.
func (e *evidence) conclusive() bool { return e.token != "" || !e.at.IsZero() }

// eventEvidence returns what an event shows of its input: it was stored at the
// event's time or earlier, as that time never goes back. Where only the headers
// were read, the time at which the event was stored is used.
func eventEvidence(s *events.Record) evidence {
	var body struct {
		At time.Time `json:"timestamp"`
	}
	e := evidence{n: s.ID.Seq, token: s.Token, until: s.At}
	if err := json.Unmarshal(s.Data, &body); err == nil && !body.At.IsZero() {
		e.until = body.At.Add(time.Millisecond - 1) // it is cut to milliseconds
	}
	return e
}

// How long an answer that reports a loss is asked for again. A server that was
// cut off from the others answers for some seconds as if it still led them.
const (
	staleTime  = 5 * time.Second
	staleEvery = 250 * time.Millisecond
)

// confirm asks until the answer is good, or staleTime is over: then the bad one
// holds. A stream without replicas has no outdated leader.
func confirm(ctx context.Context, replicated bool, ask func() (good bool, err error)) error {
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

// inputCheck checks that the input log still has inputs that were folded. An
// operation has a copy of its own.
type inputCheck struct {
	log interface {
		Inputs
		InputHistory
	}
	rewinds broker.Rewinds
	genuine uint64 // inputs folded under numbers up to it are still in the log
}

// intact reports whether the input log still has an input that was folded. All
// inputs before it are then the same as well.
func (c *inputCheck) intact(ctx context.Context, e evidence) (good bool, err error) {
	if e.n <= c.genuine {
		return true, nil
	}
	err = confirm(ctx, c.log.Replicated(), func() (bool, error) {
		good, err = c.has(ctx, &e)
		return good, err
	})
	if good && e.conclusive() {
		c.genuine = e.n
	}
	return good, err
}

// same reports whether the input log still has the newest of the inputs that are known
// to have been folded. known is in order.
func (c *inputCheck) same(ctx context.Context, known []evidence) (bool, error) {
	for i := len(known) - 1; i >= 0; i-- {
		good, err := c.intact(ctx, known[i])
		if err != nil || !good || known[i].conclusive() {
			return good, err
		}
	}
	return true, nil
}

// has asks the input log for an input. One that expired, was deleted, or was lost
// in a rewind that is recorded proves nothing.
func (c *inputCheck) has(ctx context.Context, e *evidence) (bool, error) {
	seq, ok := c.rewinds.Stored(e.n)
	if !ok {
		return true, nil
	}
	in, ok, err := c.log.Input(ctx, seq)
	if err != nil {
		return false, err
	}
	if !ok {
		_, last, err := c.log.InputBounds(ctx)
		if err != nil || seq > last {
			return false, err
		}
		// It was deleted, or one was stored there since it was asked for.
		if in, ok, err = c.log.Input(ctx, seq); err != nil {
			return false, err
		}
	}
	if !ok {
		return true, nil
	}
	switch {
	case e.token != "" && in.Token != e.token:
		return false, nil
	case !e.at.IsZero():
		return in.At.Equal(e.at), nil
	}
	return !in.At.After(e.until), nil
}
