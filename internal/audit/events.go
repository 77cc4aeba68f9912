package audit

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
)

// progressEvery is the number of messages between two reports of progress.
const progressEvery = 1000

// readEvents reads the event log from the position that the last read reached. It
// adds the events of the inputs that were folded.
func (c *comparison) readEvents(ctx context.Context) error {
	first, last, err := c.Log.EventBounds(ctx)
	if err != nil {
		return fmt.Errorf("audit: reading the event log: %w", err)
	}
	n, from := 0, max(c.read+1, first)
	err = c.Log.Entries(ctx, "", c.read, func(e eventlog.Entry) error {
		if c.begin == 0 {
			c.begin = e.Seq
		}
		c.read = e.Seq
		if n++; n%progressEvery == 0 {
			c.progress("events", e.Seq+1-from, max(last, e.Seq)+1-from)
		}
		if c.includes(e.Token) {
			c.event(&e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("audit: reading the event log: %w", err)
	}
	c.progress("events", last+1-from, last+1-from)
	return nil
}

func (c *comparison) event(e *eventlog.Entry) {
	l := line{subject: e.Subject, id: e.ID, call: e.Call, body: e.Data}
	p := c.Log.Partition(e.Token)
	input := e.ID.Seq
	there := !c.lost[input] && (input <= c.last || e.Seq > c.stored) // a log that ends below lost it
	if e.Forged != "" {
		l = line{subject: e.Subject, defect: fmt.Sprintf(" (message %d is forged, %s)", e.Seq, e.Forged)}
	} else if there && input > c.last {
		return
	}
	s := c.session(e.Token)
	if e.Forged == "" {
		if s.erased.After(e.ID) {
			s.prev, s.half = e.Seq, true
			return
		}
		if e.Prev != s.prev && e.Type != events.SessionErased && (s.prev != 0 || e.Prev >= c.begin) {
			l.defect = fmt.Sprintf(" (a broken link: it follows message %d, its condition was %d)", s.prev, e.Prev)
		}
		s.lost = s.lost || !there
		s.older = s.older || there && input < c.first
		if there && input < c.checkpoints[p] {
			s.covered, s.at = e.ID, e.At
		}
		c.events++
	}
	s.prev = e.Seq
	s.got.add(l.hash(c.seed))
	c.spell(e.Token, l, gotSide)
}

// loadCheckpoints loads the checkpoint of each partition. It
// runs before the events and the snapshots are read, which are therefore at least
// as new.
func (c *comparison) loadCheckpoints(ctx context.Context) error {
	c.checkpoints = make([]uint64, c.Log.Partitions())
	for p := range c.checkpoints {
		m, _, err := c.Log.LoadCheckpoint(ctx, p)
		if err != nil && !errors.Is(err, broker.ErrDamaged) {
			return err
		}
		c.checkpoints[p] = m.Seq
	}
	return nil
}

// maxSpelled is the maximum number of differences that are reported with events.
const maxSpelled = 20

// The indexes of spelling.lines.
const (
	wantedSide = iota
	gotSide
)

// spelling is a session whose events are kept as text: those of the fold and those
// of the log, up to the first that differs.
type spelling struct {
	lines [2][]string
	found bool
	Difference
}

// spell adds the text of an event if the session is in c.spelled. It drops text
// that is equal on both sides.
func (c *comparison) spell(token string, l line, side int) {
	s := c.spelled[token]
	if s == nil || s.found {
		return
	}
	if side == wantedSide {
		s.lines[side] = append(s.lines[side], l.String())
		return
	}
	want, got := "", l.String()
	if s.Place < len(s.lines[wantedSide]) {
		want = s.lines[wantedSide][s.Place]
		s.lines[wantedSide][s.Place] = ""
	}
	if want == got {
		s.Place++
		return
	}
	s.found, s.Want, s.Got = true, want, got
}

// differences returns the first difference of each session that differs. It reads
// both logs again, because the comparison keeps digests only. At most maxSpelled
// differences have the events.
func (c *comparison) differences(ctx context.Context, wrong []string) ([]Difference, error) {
	if len(wrong) == 0 {
		return nil, nil
	}
	again := newComparison(Verification{Log: c.Log, Progress: c.Progress}, c.first, c.last, wrong[:min(maxSpelled, len(wrong))])
	again.checkpoints = c.checkpoints
	again.spelled = map[string]*spelling{}
	for token := range again.only {
		again.spelled[token] = &spelling{Difference: Difference{Token: token}}
	}
	if err := again.fold(ctx); err != nil {
		return nil, err
	}
	if err := again.readEvents(ctx); err != nil {
		return nil, err
	}
	var list []Difference
	for _, token := range wrong {
		s := again.spelled[token]
		if s == nil {
			list = append(list, Difference{Token: token, Want: "other events"})
			continue
		}
		if want := s.lines[wantedSide]; !s.found && s.Place < len(want) {
			s.Want = want[s.Place]
		}
		list = append(list, s.Difference)
	}
	return list, nil
}
