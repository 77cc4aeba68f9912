package audit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"streamer/internal/broker"
	"streamer/internal/broker/inputlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/rewind"
	"streamer/internal/session"
)

// errRead ends the reading of the input log behind the last input that is folded.
var errRead = errors.New("read")

// maxLead is the maximum number of inputs that a fold skips because they may
// expire soon.
const maxLead = 1000

// fold folds the input log. Where inputs expire while it reads, it begins again at
// a later input. It skips more inputs each time, because others may expire before
// they are read.
func (c *comparison) fold(ctx context.Context) error {
	c.reset()
	for c.first <= c.last {
		err := c.foldOnce(ctx)
		lost := (*inputlog.LostError)(nil)
		if !errors.As(err, &lost) {
			return err
		}
		c.reset()
		c.first = lost.First + min(lost.First-c.first, maxLead)
	}
	return nil
}

func (c *comparison) reset() {
	c.parts = nil
	for range c.Log.Partitions() {
		p := &part{sessions: map[string]*sessionDigest{}}
		p.fold = &folding{c: c, part: p, states: map[string]*session.State{}}
		c.parts = append(c.parts, p)
	}
}

func (c *comparison) foldOnce(ctx context.Context) error {
	c.lost, c.seen = map[uint64]bool{}, c.first-1
	for _, p := range c.parts {
		if err := p.fold.rules.Begin(nil); err != nil {
			return err
		}
	}
	ctx, l := newLanes(ctx, func(ctx context.Context, in inputs.Input) error {
		return c.parts[in.Partition].fold.input(ctx, &in)
	})
	err := c.Log.AllInputs(ctx, c.first, func(batch []inputs.Input, next uint64) error {
		for _, in := range batch {
			c.findLost(&in)
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
		p.fold.states = nil // they take most of the memory
	}
	if err != nil && !errors.Is(err, errRead) {
		return fmt.Errorf("audit: folding the input log again: %w", err)
	}
	return nil
}

// findLost notes the inputs that the log lost: in their places, which were assigned to them
// before, are probes, or inputs that were appended again and deleted.
func (c *comparison) findLost(in *inputs.Input) {
	if seq, ok := rewind.FirstSequence(in); ok {
		c.lost[seq] = true
	}
	if in.Kind == inputs.Probe {
		for seq := c.seen + 1; seq <= in.Seq; seq++ {
			c.lost[seq] = true
		}
	}
	c.seen = in.Seq
}

type folding struct {
	c      *comparison
	part   *part
	rules  session.RulesLog
	ruled  bool // a rules input was read
	inputs int
	states map[string]*session.State
	reader session.Reader
	out    []events.Event
}

func (f *folding) input(ctx context.Context, in *inputs.Input) error {
	switch {
	case in.Kind == inputs.Rules:
		return f.rule(in)
	case !f.c.includes(in.Token):
		return nil
	}
	f.inputs++
	state := f.states[in.Token]
	known := state != nil
	if !known {
		state = new(session.State)
		f.states[in.Token] = state
		f.part.sessions[in.Token] = &sessionDigest{folded: true}
	}
	s := f.part.sessions[in.Token]
	f.out = session.Fold(f.out[:0], state, session.Input{Input: *in, Rules: f.rules.InForce(), Reader: &f.reader})
	if in.Kind == inputs.Erase { // what was before it may be there in part
		s.half = s.half || known
		s.want, s.erased = digest{}, events.ID{Seq: in.Seq}
		if spelled := f.c.spelled[in.Token]; spelled != nil {
			spelled.lines[wantedSide] = nil
		}
	}
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

// rule puts rules into force. If the first inputs of the log have expired, the
// rules before the first rules input are unknown: the sessions before it are not
// compared.
func (f *folding) rule(in *inputs.Input) error {
	if err := f.rules.Set(in); errors.Is(err, session.ErrVersion) {
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

type line struct {
	subject string
	id      events.ID
	call    string
	body    []byte
	defect  string // what is wrong with the event, apart from the comparison; "" for nothing
}

func (l *line) String() string {
	return fmt.Sprintf("%s %s %s %s%s", l.subject, l.id, l.call, l.body, l.defect)
}

func (l *line) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(l.subject) // no method of a maphash.Hash returns an error
	maphash.WriteComparable(&h, l.id)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(l.call)
	_ = h.WriteByte(0)
	_, _ = h.Write(l.body)
	_, _ = h.WriteString(l.defect)
	return h.Sum64()
}

// wanted returns the line that the log must have for an event of the fold. It also
// reads the event's blobs: a missing or damaged one is a defect.
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
