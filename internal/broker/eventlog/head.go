package eventlog

import (
	"context"
	"maps"
	"time"

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

// FirstEvent reads the oldest event of a session that is in the log, zero if
// there is none. Its Prev is not 0 where it was not the session's first.
func (l *Log) FirstEvent(ctx context.Context, token string) (events.Record, error) {
	for seq, forged := uint64(1), uint64(0); ; {
		m, err := l.b.NextMessage(ctx, broker.StreamEvents, filterOf(token), seq)
		if err != nil || m == nil {
			return events.Record{}, err
		}
		if e := entryOf(m); e.Forged == "" {
			if e.Prev == forged {
				e.Prev = 0
			}
			return e.Record, nil
		}
		seq, forged = m.Seq+1, m.Seq
	}
}

// Recent is what the events of a partition show that were stored since a time.
type Recent struct {
	Top  events.Record   // the event with the highest id
	Ends map[string]*End // by session
}

// RecentEvents reads the events stored since t, all if t is zero, and returns what they
// show of each partition. An event can be stored long after its input. Top is no synthetic
// message: these have no time.
func (l *Log) RecentEvents(ctx context.Context, t time.Time) (map[int]Recent, error) {
	recent := map[int]Recent{}
	err := l.since(ctx, t, func(e events.Record) {
		p := l.b.Partition(e.Token)
		of := recent[p]
		if of.Ends == nil {
			of.Ends = map[string]*End{}
		}
		end := of.Ends[e.Token]
		if end == nil {
			end = new(End)
			of.Ends[e.Token] = end
		}
		end.Add(&e)
		if e.ID.After(of.Top.ID) && e.Type != events.Synthetic {
			of.Top = e
		}
		recent[p] = of
	})
	return recent, err
}

func (l *Log) since(ctx context.Context, t time.Time, fn func(events.Record)) error {
	r := broker.Reading{Stream: broker.StreamEvents, Since: t}
	next := uint64(0) // Since is where to start
	if t.IsZero() {
		next = 1
	}
	return l.b.ReadToEnd(ctx, r, next, broker.Each(func(m broker.Message) error {
		if e := entryOf(&m); e.Forged == "" {
			fn(e.Record)
		}
		return nil
	}))
}

// Opened is the number of items of a session that have begun and not ended.
type Opened struct{ Calls, Runs int }

// OpenEvents returns how many calls and runs of each session have begun and not
// ended, by the subjects of the event log. It leaves out sessions with none.
func (l *Log) OpenEvents(ctx context.Context) (map[string]Opened, error) {
	calls, err := l.openOf(ctx, events.ToolCallStart, events.ToolCallResult)
	if err != nil {
		return nil, err
	}
	runs, err := l.openOf(ctx, events.RunStarted, events.RunFinished)
	if err != nil {
		return nil, err
	}
	open := make(map[string]Opened, len(runs))
	for token, n := range runs {
		open[token] = Opened{Runs: n}
	}
	for token, n := range calls {
		open[token] = Opened{Calls: n, Runs: runs[token]}
	}
	return open, nil
}

func (l *Log) openOf(ctx context.Context, begin, end events.Type) (map[string]int, error) {
	open := map[string]int{}
	for of, sign := range map[events.Type]int{begin: 1, end: -1} {
		err := l.b.Subjects(ctx, broker.StreamEvents, "toolcalls.*.event."+string(of), func(subject string, n int) {
			open[sessionOf(subject)] += sign * n
		})
		if err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(open, func(_ string, n int) bool { return n <= 0 })
	return open, nil
}
