package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/patch"
	"streamer/internal/session"
)

// MendLog is what mending needs of the broker.
type MendLog interface {
	Log
	Partitions() int
}

// Loss is a partition whose inputs expired before they were folded, or that has
// sessions whose snapshots were lost, and what mending it would do.
type Loss struct {
	Partition int
	Mark      uint64 // folded up to here
	First     uint64 // the input log begins here; 0 where no input was lost
	Sessions  []Damage
}

// Damage is a session of such a partition with something open.
type Damage struct {
	Token string
	Calls []events.Event // what is known of each open call: its last event
	Run   string         // the run that is going on, "" if none is
	// Muted are the messages that were being built: nothing more is taken of
	// them.
	Muted []lifecycle.Muted

	last broker.Stored
	at   events.Time
}

// Losses finds the partitions that stopped because inputs were lost, the sessions
// that are held because their snapshots were, and the calls in them that nothing
// would ever close. It changes nothing.
func Losses(ctx context.Context, log MendLog) ([]Loss, error) {
	first, _, err := log.InputBounds(ctx)
	if err != nil {
		return nil, err
	}
	var losses []Loss
	held := map[string]bool{}
	for p := range log.Partitions() {
		m, _, err := log.LoadMark(ctx, p)
		if err != nil {
			return nil, err
		}
		n := len(held)
		err = log.ListStates(ctx, p, func(token string, _ uint64, header map[string]string, _ time.Time) error {
			if _, is := header[headerHeld]; is {
				held[token] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		switch {
		case m.Seq != 0 && m.Seq < first && first > 1:
			losses = append(losses, Loss{Partition: p, Mark: m.Seq, First: first})
		case len(held) > n:
			losses = append(losses, Loss{Partition: p, Mark: m.Seq})
		}
	}
	if losses == nil {
		return nil, nil
	}
	open, err := damages(ctx, log)
	if err != nil {
		return nil, err
	}
	for token := range held { // what was open may have ended since
		if !slices.ContainsFunc(open, func(d *Damage) bool { return d.Token == token }) {
			open = append(open, &Damage{Token: token})
		}
	}
	for i := range losses {
		for _, d := range open {
			if log.Partition(d.Token) == losses[i].Partition && (losses[i].First != 0 || held[d.Token]) {
				losses[i].Sessions = append(losses[i].Sessions, *d)
			}
		}
	}
	return losses, nil
}

// damages reads the event log for what is open, by session.
func damages(ctx context.Context, log MendLog) ([]*Damage, error) {
	byToken := map[string]*Damage{}
	err := log.Events(ctx, "", 0, func(s broker.Stored) error {
		d := byToken[s.Token]
		if d == nil {
			d = &Damage{Token: s.Token}
			byToken[s.Token] = d
		}
		return d.event(s)
	})
	if err != nil {
		return nil, fmt.Errorf("worker: reading the event log: %w", err)
	}
	var list []*Damage
	for _, d := range byToken {
		if !d.empty() {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *Damage) int {
		return int(a.last.Seq) - int(b.last.Seq)
	})
	return list, nil
}

// empty reports whether nothing of the session is open.
func (d *Damage) empty() bool { return len(d.Calls) == 0 && d.Run == "" && len(d.Muted) == 0 }

// event takes a message of the session's event log.
func (d *Damage) event(s broker.Stored) error {
	if s.Forged != "" {
		return nil
	}
	d.last = s
	if s.Type == events.Synthetic {
		return nil
	}
	var e events.Event
	if err := json.Unmarshal(s.Data, &e); err != nil {
		return fmt.Errorf("worker: event %d: %w", s.Seq, err)
	}
	d.take(e)
	return nil
}

func (d *Damage) take(e events.Event) {
	d.at = max(d.at, e.Timestamp)
	same := func(o events.Event) bool { return o.Call == e.Call }
	switch e.Type {
	case events.RunStarted:
		d.Run = e.Run
	case events.RunFinished:
		d.Run = ""
	case events.MessageStarted:
		d.Muted = append(d.Muted, lifecycle.Muted{Namespace: e.Namespace, Message: e.MessageID})
	case events.MessageFinished:
		d.Muted = slices.DeleteFunc(d.Muted, func(m lifecycle.Muted) bool { return m.Namespace == e.Namespace && m.Message == e.MessageID })
	case events.ToolCallStart:
		d.Calls = append(d.Calls, e)
	case events.ToolCallArgsComplete:
		if i := slices.IndexFunc(d.Calls, same); i >= 0 {
			d.Calls[i].ArgsValid = e.ArgsValid
		}
	case events.ToolCallResult:
		d.Calls = slices.DeleteFunc(d.Calls, same)
	}
}

// Mend closes what a loss left open: each open call as lost, the run as failed.
// It saves a fresh state of each session, in which the messages that were being
// built are muted, and moves the mark to where the input log begins. Its
// partition must have stopped everywhere; it can be called again where it was
// interrupted.
func Mend(ctx context.Context, log MendLog, loss Loss) error {
	for i := range loss.Sessions {
		if err := mendSession(ctx, log, loss, &loss.Sessions[i]); err != nil {
			return fmt.Errorf("worker: mending session %s: %w", loss.Sessions[i].Token, err)
		}
	}
	if loss.First == 0 {
		return nil
	}
	if err := freshen(ctx, log, loss); err != nil {
		return err
	}
	m, rev, err := log.LoadMark(ctx, loss.Partition)
	if err != nil {
		return err
	}
	m.Seq = loss.First
	if _, err := log.SaveMark(ctx, loss.Partition, m, rev); err != nil {
		return fmt.Errorf("worker: moving the mark of partition %d: %w", loss.Partition, err)
	}
	return nil
}

// mendSession appends the ends of what is open to the session's chain, and
// saves its fresh state.
func mendSession(ctx context.Context, log MendLog, loss Loss, d *Damage) error {
	state, rev, err := savedState(ctx, log, loss.Partition, d.Token)
	if err != nil {
		return err
	}
	name, err := events.ParseToken(d.Token)
	if err != nil {
		name = d.Token
	}
	prev, last, err := log.ChainLast(ctx, d.Token)
	if err != nil {
		return err
	}
	// The events take the place of those of the last lost input, behind all
	// that is there.
	id := next(last.ID, max(loss.First, 1)-1)
	fresh := d.fresh(&state, id.Seq)
	for _, e := range d.ends(name, fresh.Life.Time, shapes(&state)) {
		e.EventID = id
		body, err := e.Body()
		if err != nil {
			return err
		}
		a := log.PublishWait(ctx, log.EventPub(d.Token, &e, body, nil, prev))
		if errors.Is(a.Err, broker.ErrConflict) {
			return fmt.Errorf("somebody else is writing to it: stop the workers first: %w", a.Err)
		}
		if a.Err != nil {
			return a.Err
		}
		prev = a.Seq
		id.N++
	}
	return saveFresh(ctx, log, loss.Partition, d.Token, rev, fresh, point{prev, events.ID{Seq: id.Seq, N: id.N - 1}})
}

// fresh returns the state of a session, after the input n, in which nothing is
// open and the messages that were being built are muted. It keeps what old
// remembers.
func (d *Damage) fresh(old *session.State, n uint64) *session.State {
	s := &session.State{N: n, Read: old.Read}
	s.Life.Time, s.Life.Last = max(d.at, old.Life.Time), old.Life.Last
	s.Life.Memory = old.Life.Memory
	s.Life.Memory.Muted = append(slices.Clone(old.Life.Memory.Muted), d.Muted...)
	for _, c := range d.Calls {
		s.Life.Memory.Closed = append(s.Life.Memory.Closed, lifecycle.Closed{
			Call: c.Call, ID: c.ID, Name: c.ToolName, UID: c.UID, Synth: c.IDSynthesized, Run: c.Run,
			Message: c.MessageID, Namespace: c.Namespace, Choice: c.Choice, Index: string(c.Index),
		})
	}
	return s
}

// next gives the first free event id that is of input seq or later.
func next(last events.ID, seq uint64) events.ID {
	if last.Seq >= seq {
		return events.ID{Seq: last.Seq, N: last.N + 1}
	}
	return events.ID{Seq: seq}
}

// ends are the events that close a damaged session.
func (d *Damage) ends(name string, at events.Time, shape map[string]string) []events.Event {
	var out []events.Event
	for _, c := range d.Calls {
		usable := c.ArgsValid != nil && *c.ArgsValid
		announced := c.ArgsValid != nil
		sort := events.TextFor(events.ByLost, usable)
		text := events.Fill(events.Sentence(sort, events.Langs[0]), c.ToolName, c.ID)
		e := events.Event{
			Type: events.ToolCallResult, Session: name, Run: c.Run, Place: c.Place, Index: c.Index,
			Call: c.Call, ID: c.ID, IDSynthesized: c.IDSynthesized, UID: c.UID, ToolName: c.ToolName, Timestamp: at,
			Status: events.Cancelled, Synthetic: true, Reason: &events.Reason{Code: events.ByLost, Text: text},
			ToolResult: events.Quote(text), ArgsAnnounced: &announced,
		}
		out = append(out, e)
		e.Type = events.Synthetic
		m, err := patch.Synthetic(patch.Shape(shape[c.Call]), patch.Call{ID: c.ID, Name: c.ToolName}, sort, text)
		if err != nil {
			m, _ = patch.Synthetic(patch.OpenAI, patch.Call{ID: c.ID, Name: c.ToolName}, sort, text)
		}
		e.Message = m
		out = append(out, e)
	}
	if d.Run != "" {
		out = append(out, events.Event{
			Type: events.RunFinished, Session: name, Run: d.Run, Timestamp: at, Status: events.Error,
			Reason: &events.Reason{Code: events.ByLost, Text: "Inputs of the run were lost."},
		})
	}
	return out
}

// shapes tells the history shape of each call that a saved state knows.
func shapes(s *session.State) map[string]string {
	known := map[string]string{}
	for _, m := range s.Life.Messages {
		for _, c := range m.Calls {
			known[c.Call] = m.Shape
		}
	}
	return known
}

func savedState(ctx context.Context, log MendLog, p int, token string) (session.State, uint64, error) {
	saved, ok, err := log.LoadState(ctx, p, token)
	if errors.Is(err, broker.ErrDamaged) {
		return session.State{}, saved.Rev, nil
	}
	if err != nil || !ok {
		return session.State{}, saved.Rev, err
	}
	_, state, err := readSnapshot(&saved)
	if err != nil { // damaged: nothing is known of it but where it is
		return session.State{}, saved.Rev, nil //nolint:nilerr // the fresh state takes its place
	}
	return *state, saved.Rev, nil
}

func saveFresh(ctx context.Context, log MendLog, p int, token string, rev uint64, s *session.State, chain point) error {
	l := resident{token: token, state: s, log: eventLog{seq: chain.Seq, id: chain.ID, base: chain}}
	data, err := l.encode(new(snapshotEncoder))
	if err != nil {
		return err
	}
	pub, blobs := log.SavePub(p, token, rev, l.header(lifecycle.Alarm{}, false), data)
	for _, b := range append(blobs, pub) {
		if a := log.PublishWait(ctx, b); a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// freshen replaces the saved states that have something open which the event
// log does not show: text that was held, events that were never sent.
func freshen(ctx context.Context, log MendLog, loss Loss) error {
	mended := map[string]bool{}
	for _, d := range loss.Sessions {
		mended[d.Token] = true
	}
	var stale []string
	err := log.ListStates(ctx, loss.Partition, func(token string, _ uint64, header map[string]string, _ time.Time) error {
		n, err := strconv.ParseUint(header[headerInput], 10, 64)
		if !mended[token] && (header[headerWake] != "" || header[headerUnsent] != "") && (err != nil || n < loss.First) {
			stale = append(stale, token)
		}
		return nil
	})
	for _, token := range stale {
		if err == nil {
			err = mendSession(ctx, log, loss, &Damage{Token: token})
		}
	}
	return err
}
