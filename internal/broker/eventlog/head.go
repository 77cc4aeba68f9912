package eventlog

import (
	"context"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// Head reads the head of a session's event log from its stream's leader. seq is
// the sequence of the last message, 0 if there is none: the condition of an
// append. last is the last event, zero if there is none; its Seq is less than seq
// where forged messages follow it.
func (l *Log) Head(ctx context.Context, token string) (seq uint64, last events.Record, err error) {
	for try := 0; ; try++ {
		m, err := l.b.LastMessage(ctx, broker.StreamEvents, filterOf(token))
		if m == nil && err == nil {
			m, err = l.noLast(ctx, token)
		}
		if m == nil || err != nil {
			return 0, events.Record{}, err
		}
		if e := entryOf(m); e.Forged == "" {
			return m.Seq, e.Record, nil
		}
		last, reached, err := l.lastGenuine(ctx, token, m.Seq)
		if err != nil || reached {
			return m.Seq, last, err
		}
		if err := l.b.Backoff(ctx, try); err != nil {
			return 0, events.Record{}, err
		}
	}
}

// noLast returns an error where the last event of a session cannot be read, but
// the session has others. The server reports a message that is damaged on the
// disk as missing, and would accept the session's first event again. noLast
// returns the last event if one was stored meanwhile.
func (l *Log) noLast(ctx context.Context, token string) (*broker.Message, error) {
	m, err := l.b.NextMessage(ctx, broker.StreamEvents, filterOf(token), 1)
	if err != nil || m == nil {
		return nil, err
	}
	if m, err = l.b.LastMessage(ctx, broker.StreamEvents, filterOf(token)); err != nil || m != nil {
		return m, err
	}
	return nil, l.b.DamagedEnd(broker.StreamEvents, token)
}

// lastGenuine reads a session's event log for its last event before sequence seq.
// reached is false where the log was not read up to there: a replica may lag, and
// the events that it lacks must not be appended again.
func (l *Log) lastGenuine(ctx context.Context, token string, seq uint64) (last events.Record, reached bool, err error) {
	err = l.history(ctx, readingOf(token), 0, func(e Entry) error {
		reached = reached || e.Seq == seq
		if e.Forged == "" && e.Seq < seq {
			last = e.Record
		}
		return nil
	})
	return last, reached, err
}
