package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"streamer/internal/broker"
	"streamer/internal/broker/inputlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

var errRead = errors.New("read")

// farthest bounds how many inputs are left out because they may expire soon.
const farthest = 1000

// fold folds the input log. Inputs that expire meanwhile are no fault: it begins
// behind them, further each time, as more may expire before it reads.
func (c *comparison) fold(ctx context.Context) error {
	c.reset()
	for c.first <= c.last {
		err := c.foldOnce(ctx)
		lost := (*inputlog.LostError)(nil)
		if !errors.As(err, &lost) {
			return err
		}
		c.reset()
		c.first = lost.First + min(lost.First-c.first, farthest)
	}
	return nil
}

// reset forgets what was folded.
func (c *comparison) reset() {
	c.parts = nil
	for range c.Log.Partitions() {
		p := &part{sessions: map[string]*compared{}}
		p.fold = &folding{c: c, part: p, states: map[string]*session.State{}}
		c.parts = append(c.parts, p)
	}
}

// foldOnce reads the input log once, and folds partitions in parallel.
func (c *comparison) foldOnce(ctx context.Context) error {
	for _, p := range c.parts {
		if err := p.fold.rules.begin(broker.Checkpoint{}); err != nil {
			return err
		}
	}
	ctx, l := newLanes(ctx, func(ctx context.Context, in inputs.Input) error {
		return c.parts[in.Partition].fold.input(ctx, &in)
	})
	err := c.Log.AllInputs(ctx, c.first, func(batch []inputs.Input, next uint64) error {
		for _, in := range batch {
			if in.Seq <= c.last && !in.Foreign {
				l.add(in.Partition, in)
			}
		}
		l.flush()
		c.progress("inputs", min(next, c.last+1)-c.first, c.last+1-c.first)
		if next > c.last {
			return errRead
		}
		return nil
	})
	if failed := l.wait(); failed != nil {
		err = failed
	}
	for _, p := range c.parts {
		p.fold.states = nil // they take more memory than all else
	}
	if err != nil && !errors.Is(err, errRead) {
		return fmt.Errorf("worker: folding the input log again: %w", err)
	}
	return nil
}

// folding folds the inputs of a partition.
type folding struct {
	c      *comparison
	part   *part
	rules  rulesLog
	ruled  bool // a rules input was seen
	inputs int
	states map[string]*session.State
	reader session.Reader
	out    []events.Event
}

func (f *folding) input(ctx context.Context, in *inputs.Input) error {
	switch {
	case in.Kind == inputs.Rules:
		return f.rule(in)
	case !f.c.takes(in.Token):
		return nil
	}
	f.inputs++
	state := f.states[in.Token]
	if state == nil {
		state = new(session.State)
		f.states[in.Token] = state
		f.part.sessions[in.Token] = &compared{folded: true}
	}
	s := f.part.sessions[in.Token]
	f.out = session.Fold(f.out[:0], state, sessionInput(in, f.c.rewinds[in.Partition].Effective(in.Seq), f.rules.inForce(), &f.reader))
	for i := range f.out {
		l, err := f.c.wanted(ctx, in.Token, &f.out[i])
		if err != nil {
			return err
		}
		s.want.add(l.hash(f.c.seed))
		f.c.spell(in.Token, l, wantedSide)
	}
	clear(f.out)
	return nil
}

// rule puts rules into force. Where the input log has lost its beginning, the
// rules before its first ones are not known.
func (f *folding) rule(in *inputs.Input) error {
	if err := f.rules.set(in); errors.Is(err, ErrVersion) {
		return err
	}
	if !f.ruled && f.c.first > 1 {
		for _, s := range f.part.sessions {
			s.older = true
		}
	}
	f.ruled = true
	return nil
}

// line is what must be equal of an event.
type line struct {
	subject string
	id      events.ID
	call    string
	body    []byte
	defect  string // of what is wrong with it by itself
}

func (l *line) String() string {
	return fmt.Sprintf("%s %s %s %s%s", l.subject, l.id, l.call, l.body, l.defect)
}

func (l *line) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(l.subject) // none of these can fail
	maphash.WriteComparable(&h, l.id)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(l.call)
	_ = h.WriteByte(0)
	_, _ = h.Write(l.body)
	_, _ = h.WriteString(l.defect)
	return h.Sum64()
}

// wanted returns an event as the log should have it, and reads its blobs.
func (c *comparison) wanted(ctx context.Context, token string, e *events.Event) (line, error) {
	body, err := e.Body()
	if err != nil {
		return line{}, err
	}
	l := line{subject: e.Subject(token), id: e.EventID, call: e.Call, body: body}
	for _, b := range e.Blobs {
		if _, err := c.Log.Blob(ctx, b.Ref); errors.Is(err, events.ErrNotFound) {
			l.defect += " (its blob " + b.Ref.SHA256 + " is missing)"
		} else if errors.Is(err, broker.ErrDamaged) {
			l.defect += " (" + err.Error() + ")"
		} else if err != nil {
			return line{}, err
		}
	}
	return l, nil
}
