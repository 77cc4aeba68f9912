package broker

import (
	"context"
	"fmt"
	"maps"
	"time"

	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// FirstEvent reads the oldest event of a session that is in the log, zero if
// there is none. Its Prev is not 0 where it was not the session's first.
func (b *Broker) FirstEvent(ctx context.Context, token string) (Stored, error) {
	for seq, forged := uint64(1), uint64(0); ; {
		m, err := b.message(ctx, streamEvents, map[string]any{"seq": seq, "next_by_subj": chain(token)})
		if err != nil || m == nil {
			return Stored{}, err
		}
		s := b.logged(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data})
		if s.Forged == "" {
			if s.Prev == forged {
				s.Prev = 0
			}
			return s.Record, nil
		}
		seq, forged = m.Sequence+1, m.Sequence
	}
}

// RecentEvents reads the events stored last, up to d before the newest, and
// returns those with the highest id of each partition, with their bodies: one
// can be stored long after its input.
func (b *Broker) RecentEvents(ctx context.Context, d time.Duration) (map[int]Stored, error) {
	tops := map[int]Stored{}
	state, err := b.bounds(ctx, streamEvents)
	if err != nil || state.Last < state.First {
		return tops, err
	}
	err = b.waiting(ctx, reading{stream: streamEvents, headers: true, since: state.LastAt.Add(-d)}, func(m stored) error {
		s := b.logged(m)
		if p := b.Partition(s.Token); s.Forged == "" && s.ID.After(tops[p].ID) {
			tops[p] = s.Record
		}
		return nil
	})
	for p, s := range tops {
		if err != nil {
			break
		}
		var m *nats.RawStreamMsg
		if m, err = b.message(ctx, streamEvents, map[string]any{"seq": s.Seq}); m != nil {
			tops[p] = b.logged(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data}).Record
		}
	}
	return tops, err
}

// TopEvent returns the highest event id of a partition's sessions among the
// events stored since t.
func (b *Broker) TopEvent(ctx context.Context, p int, t time.Time) (top events.ID, err error) {
	err = b.waiting(ctx, reading{stream: streamEvents, headers: true, since: t}, func(m stored) error {
		s := b.logged(m)
		if s.Forged == "" && s.ID.After(top) && b.Partition(s.Token) == p {
			top = s.ID
		}
		return nil
	})
	return top, err
}

// Opened counts what of a session has begun and not ended.
type Opened struct{ Calls, Runs int }

// OpenEvents returns how many calls and runs of each session have begun and not
// ended, as the subjects of the event log count them. Sessions with none are
// left out.
func (b *Broker) OpenEvents(ctx context.Context) (map[string]Opened, error) {
	calls, err := b.openOf(ctx, events.ToolCallStart, events.ToolCallResult)
	if err != nil {
		return nil, err
	}
	runs, err := b.openOf(ctx, events.RunStarted, events.RunFinished)
	if err != nil {
		return nil, err
	}
	open := make(map[string]Opened, len(runs))
	for token, n := range calls {
		open[token] = Opened{Calls: n}
	}
	for token, n := range runs {
		open[token] = Opened{Calls: calls[token], Runs: n}
	}
	return open, nil
}

// openOf counts by session what has begun with one type of event and not ended
// with another.
func (b *Broker) openOf(ctx context.Context, begin, end events.Type) (map[string]int, error) {
	open := map[string]int{}
	for of, sign := range map[events.Type]int{begin: 1, end: -1} {
		err := b.subjects(ctx, "toolcalls.*.event."+string(of), func(subject string, n int) {
			open[sessionOf(subject)] += sign * n
		})
		if err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(open, func(_ string, n int) bool { return n <= 0 })
	return open, nil
}

// subjects counts the messages of each subject of the event stream, a page of
// subjects at a time.
func (b *Broker) subjects(ctx context.Context, filter string, fn func(subject string, n int)) error {
	for offset := 0; ; {
		var page struct {
			failure
			Total int `json:"total"`
			State struct {
				Subjects map[string]int `json:"subjects"`
			} `json:"state"`
		}
		if err := b.ask(ctx, apiStreamInfo+streamEvents, map[string]any{"subjects_filter": filter, "offset": offset}, &page); err != nil {
			return fmt.Errorf("broker: subjects of stream %s: %w", streamEvents, err)
		}
		for subject, n := range page.State.Subjects {
			fn(subject, n)
		}
		if offset += len(page.State.Subjects); len(page.State.Subjects) == 0 || offset >= page.Total {
			return nil
		}
	}
}
