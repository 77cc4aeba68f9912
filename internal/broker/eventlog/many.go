package eventlog

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"streamer/internal/broker"
	"streamer/internal/events"
)

type selection struct {
	tokens []string
	match  func(token string) bool
}

func (s *selection) has(token string) bool {
	if s.match != nil {
		return s.match(token)
	}
	return slices.Contains(s.tokens, token)
}

// TailMany reads the events of several sessions, as Tail does for one: of those with the
// tokens or, if match is not nil, of those for whose tokens it returns true. It reads them
// in the order of the log: after an event was passed to fn, no event with a lower sequence
// follows. Tails of several sessions share one NATS subscription to all events, from
// which they also see where an event is missing: each stored message is republished.
func (l *Log) TailMany(ctx context.Context, tokens []string, match func(token string) bool, after uint64, fn func(e events.Record, live bool) error, flush func() error) error {
	return l.tail(ctx, &tail{l: l, selected: &selection{tokens, match}, last: after, fn: fn, flush: flush})
}

// catchUpMany reads the selected events after last, up to the end that the log has
// at the beginning of the call.
func (t *tail) catchUpMany(ctx context.Context, live bool) error {
	end, err := t.l.headOf(ctx, everyEvent)
	if err != nil || end <= t.last {
		return err
	}
	if t.selected.match != nil {
		err = t.readMatching(ctx, end, live)
	} else {
		err = t.merge(ctx, end, live)
	}
	if err == nil {
		t.last = max(t.last, end)
	}
	return err
}

func (l *Log) headOf(ctx context.Context, filter string) (uint64, error) {
	m, err := l.b.LastMessage(ctx, broker.StreamEvents, filter)
	if err != nil || m == nil {
		return 0, err
	}
	return m.Seq, nil
}

func (t *tail) readMatching(ctx context.Context, end uint64, live bool) error {
	r := broker.Reading{Stream: broker.StreamEvents, Credit: tailCredit, Bytes: tailRead}
	for e, err := range t.l.upTo(ctx, r, t.last, end) {
		if err != nil {
			return err
		}
		if !t.selected.has(e.Token) {
			continue
		}
		if err := t.pass(&e, live); err != nil {
			return err
		}
	}
	return nil
}

type source struct {
	next Entry
	pull func() (Entry, error, bool)
}

// merge reads the selected sessions up to sequence end, each by itself, and passes
// on their events in the order of the log. One consumer with several filters is far
// slower.
func (t *tail) merge(ctx context.Context, end uint64, live bool) error {
	var sources []*source
	for _, token := range t.selected.tokens {
		head, err := t.l.headOf(ctx, filterOf(token))
		if err != nil {
			return err
		}
		if head <= t.last {
			continue
		}
		r := readingOf(token)
		r.Bytes = max(tailRead/len(t.selected.tokens), minMergeRead)
		pull, stop := iter.Pull2(t.l.upTo(ctx, r, t.last, head))
		defer stop()
		sources = append(sources, &source{pull: pull})
	}
	return t.passMerged(sources, end, live)
}

const minMergeRead = 16 << 10

func (t *tail) passMerged(sources []*source, end uint64, live bool) error {
	for len(sources) > 0 {
		first := 0 // the one with the lowest sequence, which is 0 before its first event
		for i, s := range sources {
			if s.next.Seq < sources[first].next.Seq {
				first = i
			}
		}
		s := sources[first]
		if s.next.Seq > 0 {
			if err := t.pass(&s.next, live); err != nil {
				return err
			}
		}
		var err error
		var more bool
		if s.next, err, more = s.pull(); err != nil {
			return err
		}
		if !more || s.next.Seq > end {
			sources = slices.Delete(sources, first, first+1)
		}
	}
	return nil
}

// upTo returns the messages of a reading after sequence after, until the one at head
// or a later one was returned. An error is the last value.
func (l *Log) upTo(ctx context.Context, r broker.Reading, after, head uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		stopped := false
		err := l.until(ctx, cmp.Or(r.Filter, everyEvent), head, func() (uint64, error) {
			err := l.history(ctx, r, after, func(e Entry) error {
				after = e.Seq
				if stopped = !yield(e, nil); stopped || after >= head {
					return broker.ErrStop
				}
				return nil
			})
			if stopped {
				return head, err
			}
			return after, err
		})
		if err != nil && !stopped {
			yield(Entry{}, err)
		}
	}
}
