package broker

import (
	"context"
	"errors"
	"fmt"
)

// ReadToEnd reads a stream from sequence next on, up to its present end. deliver
// receives the messages in batches, which are never empty; the slice is reused
// after it returns. r.Deliver and r.Idle are not used. A deliver that returns
// ErrStop ends the read without an error.
//
// The server counts a message that is damaged on its disk as waiting, and never
// delivers it. So where nothing arrives although something is waiting, the
// stream's leader is asked whether it has another message.
//
// In a cluster a consumer can read a replica that lags behind, or be created by an
// outdated leader. There the stream's leader is asked for the last message at the
// first end, and other consumers read on up to it.
func (b *Broker) ReadToEnd(ctx context.Context, r Reading, next uint64, deliver func(batch []Message) error) error {
	e := end{b: b, r: r, next: next}
	enough := false
	r.Deliver = func(batch []Message, pending uint64) error {
		if n := len(batch); n > 0 {
			if err := deliver(batch); err != nil {
				enough = errors.Is(err, ErrStop)
				return err
			}
			e.next, e.asked = batch[n-1].Seq+1, false
		}
		if pending == 0 {
			return ErrStop
		}
		return nil
	}
	r.Idle = e.reached
	for try := 0; ; try++ {
		if err := b.Read(ctx, r, e.next); !errors.Is(err, ErrStop) {
			return err
		}
		if enough || !b.replicated {
			return nil
		}
		if missing, err := e.missing(ctx); missing == 0 || err != nil {
			return err
		} else if try == maxReads {
			return fmt.Errorf("broker: stream %s has message %d, but no consumer delivers it", r.Stream, missing)
		}
		if b.Backoff(ctx, try) != nil {
			return ctx.Err()
		}
	}
}

// maxReads is the number of consumers after the first one that read on where the
// leader has more. They take about ten seconds.
const maxReads = 10

// Each returns a function for ReadToEnd that calls fn with each message.
func Each(fn func(Message) error) func(batch []Message) error {
	return func(batch []Message) error {
		for i := range batch {
			if err := fn(batch[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

type end struct {
	b     *Broker
	r     Reading
	next  uint64 // sequence to read; 0 where r.Since is where to start
	asked bool   // the leader had no other message
	last  uint64 // the leader's last message at the first end, 0 until then
}

// missing returns the sequence of a message that the leader had at the first end of
// the read and that was not delivered, or 0.
func (e *end) missing(ctx context.Context) (uint64, error) {
	if e.last == 0 {
		m, err := e.b.LastMessage(ctx, e.r.Stream, everything(e.r.Filter))
		if m == nil {
			return 0, err
		}
		e.last = m.Seq
	}
	if e.next > e.last {
		return 0, nil
	}
	m, err := e.after(ctx) // the last one may have been deleted, or be older than r.Since
	if m == nil || m.Seq > e.last {
		return 0, err
	}
	return m.Seq, nil
}

// reached returns ErrStop if the stream has no other message. Where there are
// replicas, an outdated leader may answer for some seconds: it is asked in two
// calls, which are longer apart.
func (e *end) reached(ctx context.Context) error {
	m, err := e.after(ctx)
	switch {
	case err != nil:
		return err
	case m != nil:
		e.asked = false
	case e.asked || !e.b.replicated:
		return ErrStop
	default:
		e.asked = true
	}
	return nil
}

func (e *end) after(ctx context.Context) (*Message, error) {
	if e.next > 0 {
		return e.b.NextMessage(ctx, e.r.Stream, e.r.Filter, e.next)
	}
	return e.b.message(ctx, e.r.Stream, map[string]any{"start_time": e.r.Since, "next_by_subj": everything(e.r.Filter)})
}
