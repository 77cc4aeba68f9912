package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/session"
)

// Logs is what Verify reads.
type Logs interface {
	Partitions() int
	Partition(token string) int
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []broker.Input, next uint64, caughtUp bool) error) error
	Events(ctx context.Context, token string, after uint64, fn func(broker.Stored) error) error
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
}

// Report is what Verify found.
type Report struct {
	Sessions int // compared
	Older    int // not compared: they began before the input log does
	Inputs   int
	Events   int
	Unknown  []string // tokens that were asked for, and stand in neither log
	// Differences are the first of each session where there is one.
	Differences []Difference
}

// Difference is the first place where a session's events are not what its
// inputs give.
type Difference struct {
	Token string
	Place int    // counts the events of the session
	Want  string // "" where there is an event too many
	Got   string // "" where one is missing
}

func (d Difference) String() string {
	or := func(s string) string {
		if s == "" {
			return "(nothing)"
		}
		return s
	}
	return fmt.Sprintf("session %s, event %d:\n  the inputs give %s\n  the log has     %s", d.Token, d.Place, or(d.Want), or(d.Got))
}

// patience is how long Verify waits for events that a live worker may still
// be storing.
const patience = 5 * time.Second

// Verify folds the input log again, apart from any saved state, and compares
// what it gives with the event log: subjects, ids, bodies, chain links and
// blobs. It takes the sessions of the given tokens, or all. On a live log it
// compares what stood in the input log when it began.
func Verify(ctx context.Context, log Logs, tokens ...string) (Report, error) {
	v := verification{log: log, seed: maphash.MakeSeed(), only: map[string]bool{}}
	for _, t := range tokens {
		v.only[t] = true
	}
	first, last, err := log.InputBounds(ctx)
	if err != nil {
		return Report{}, err
	}
	v.first, v.last = slices.Repeat([]uint64{first}, log.Partitions()), last
	if err := v.refold(ctx); err != nil {
		return Report{}, err
	}
	for deadline := time.Now().Add(patience); ; {
		if err := v.read(ctx); err != nil {
			return Report{}, err
		}
		wrong, lag := v.compare()
		if !lag || time.Now().After(deadline) {
			r, err := v.report(ctx, wrong)
			r.Unknown = v.unknown(tokens)
			return r, err
		}
		select {
		case <-ctx.Done():
			return Report{}, ctx.Err()
		case <-time.After(patience / 20):
		}
	}
}

// verification compares hashes of events, of which there can be many.
type verification struct {
	log   Logs
	seed  maphash.Seed
	only  map[string]bool
	first []uint64 // input that is folded, by partition
	last  uint64   // of the input log

	inputs, events int
	want, got      map[string][]uint64
	older          map[string]bool // sessions that began before the log
	line           func(string)    // is told every event, in words
}

func (v *verification) takes(token string) bool { return len(v.only) == 0 || v.only[token] }

// add notes an event that is wanted, or was got.
func (v *verification) add(to map[string][]uint64, token, line string) {
	to[token] = append(to[token], maphash.String(v.seed, line))
	if v.line != nil {
		v.line(line)
	}
}

var errRead = errors.New("read")

func (v *verification) refold(ctx context.Context) error {
	v.want, v.older, v.inputs = map[string][]uint64{}, map[string]bool{}, 0
	for p := range v.first {
		if err := v.refoldOne(ctx, p); err != nil {
			return fmt.Errorf("worker: folding partition %d again: %w", p, err)
		}
	}
	return nil
}

// farthest bounds how many inputs are left out because they may expire soon.
const farthest = 1000

// refoldOne folds a partition again. Inputs that expire meanwhile are no fault:
// it begins behind them, further each time, as more may expire before it reads.
func (v *verification) refoldOne(ctx context.Context, p int) error {
	for v.first[p] <= v.last {
		f := folding{v: v, first: v.first[p], states: map[string]*session.State{}}
		if err := f.rules.begin(broker.Mark{}); err != nil {
			return err
		}
		err := v.log.Inputs(ctx, p, f.first, f.take(ctx))
		if errors.Is(err, errRead) {
			v.inputs += f.inputs
			break
		}
		lost := (*broker.InputLostError)(nil)
		if !errors.As(err, &lost) {
			return err
		}
		f.forget()
		v.first[p] = lost.First + min(lost.First-v.first[p], farthest)
	}
	return nil
}

// folding folds the inputs of a partition.
type folding struct {
	v      *verification
	first  uint64 // input
	rules  rulesLog
	ruled  bool // a rules input was seen
	inputs int
	states map[string]*session.State
	reader decode.Reader
}

// forget takes back what was folded.
func (f *folding) forget() {
	for token := range f.states {
		delete(f.v.want, token)
		delete(f.v.older, token)
	}
}

func (f *folding) take(ctx context.Context) func([]broker.Input, uint64, bool) error {
	return func(batch []broker.Input, next uint64, caughtUp bool) error {
		for i := range batch {
			if batch[i].Seq > f.v.last {
				return errRead
			}
			if err := f.input(ctx, &batch[i]); err != nil {
				return err
			}
		}
		if caughtUp || next > f.v.last {
			return errRead
		}
		return nil
	}
}

func (f *folding) input(ctx context.Context, in *broker.Input) error {
	switch {
	case in.Foreign:
		return nil
	case in.Kind == broker.KindRules:
		if err := f.rules.set(in); errors.Is(err, ErrVersion) {
			return err
		}
		if !f.ruled && f.first > 1 {
			// Which rules held before this one is not in the log any more.
			for token := range f.states {
				f.v.older[token] = true
			}
		}
		f.ruled = true
		return nil
	case !f.v.takes(in.Token):
		return nil
	}
	f.inputs++
	s := f.states[in.Token]
	if s == nil {
		s = new(session.State)
		f.states[in.Token] = s
		f.v.want[in.Token] = nil
	}
	for _, e := range session.Fold(nil, s, sessionInput(in, in.Seq, f.rules.inForce(), &f.reader)) {
		line, err := f.v.wanted(ctx, in.Token, &e)
		if err != nil {
			return err
		}
		f.v.add(f.v.want, in.Token, line)
	}
	return nil
}

// wanted writes an event as the log should have it, blobs included.
func (v *verification) wanted(ctx context.Context, token string, e *events.Event) (string, error) {
	body, err := e.Body()
	if err != nil {
		return "", err
	}
	line := describe(e.Subject(token), e.EventID, e.Call, body)
	for _, b := range e.Blobs {
		if _, err := v.log.Blob(ctx, b.Ref); errors.Is(err, broker.ErrNotFound) {
			line += " (its blob " + b.Ref.SHA256 + " is missing)"
		} else if errors.Is(err, broker.ErrDamaged) {
			line += " (its blob " + b.Ref.SHA256 + " is damaged)"
		} else if err != nil {
			return "", err
		}
	}
	return line, nil
}

// read reads the event log, up to the events of the last input.
func (v *verification) read(ctx context.Context) error {
	v.got, v.events = map[string][]uint64{}, 0
	prev := map[string]uint64{}
	var begin uint64 // of the event log: what stood before it has expired
	err := v.log.Events(ctx, "", 0, func(e broker.Stored) error {
		if begin == 0 {
			begin = e.Seq
		}
		if !v.takes(e.Token) {
			return nil
		}
		if e.Forged != "" {
			v.add(v.got, e.Token, fmt.Sprintf("%s (message %d is forged, %s)", e.Subject, e.Seq, e.Forged))
			prev[e.Token] = e.Seq
			return nil
		}
		if e.ID.Seq > v.last {
			return nil
		}
		if e.ID.Seq < v.first[v.log.Partition(e.Token)] {
			v.older[e.Token] = true
		}
		line := describe(e.Subject, e.ID, e.Call, e.Data)
		if e.Prev != prev[e.Token] && (prev[e.Token] != 0 || e.Prev >= begin) {
			line = fmt.Sprintf("%s (a broken link: it stands behind %d and says %d)", line, prev[e.Token], e.Prev)
		}
		prev[e.Token] = e.Seq
		v.add(v.got, e.Token, line)
		v.events++
		return nil
	})
	if err != nil {
		return fmt.Errorf("worker: reading the event log: %w", err)
	}
	return nil
}

// describe writes what must be equal of an event.
func describe(subject string, id events.ID, call string, body []byte) string {
	return fmt.Sprintf("%s %s %s %s", subject, id, call, body)
}

// compare gives the sessions that differ, in order, and whether some only lack
// events at their end.
func (v *verification) compare() (wrong []string, lag bool) {
	for token := range v.tokens() {
		w, g := v.want[token], v.got[token]
		if slices.Equal(w, g) {
			continue
		}
		wrong = append(wrong, token)
		lag = lag || len(g) < len(w) && slices.Equal(w[:len(g)], g)
	}
	slices.Sort(wrong)
	return wrong, lag
}

// tokens gives the sessions that are compared.
func (v *verification) tokens() map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string][]uint64{v.want, v.got} {
		for token := range m {
			if !v.older[token] {
				all[token] = true
			}
		}
	}
	return all
}

// unknown gives those of the tokens of which neither log knows.
func (v *verification) unknown(tokens []string) (list []string) {
	for _, t := range tokens {
		_, folded := v.want[t]
		if !folded && len(v.got[t]) == 0 && !v.older[t] {
			list = append(list, t)
		}
	}
	return list
}

// spelt is how many differences are spelt out.
const spelt = 20

// report spells out the first difference of sessions that differ: it reads
// them again, with their texts.
func (v *verification) report(ctx context.Context, wrong []string) (Report, error) {
	r := Report{Sessions: len(v.tokens()), Older: len(v.older), Inputs: v.inputs, Events: v.events}
	for i, token := range wrong {
		if i >= spelt {
			r.Differences = append(r.Differences, Difference{Token: token, Want: "something else"})
			continue
		}
		d, err := v.spell(ctx, token)
		if err != nil {
			return r, err
		}
		r.Differences = append(r.Differences, d)
	}
	return r, nil
}

func (v *verification) spell(ctx context.Context, token string) (Difference, error) {
	var want, got []string
	one := verification{log: v.log, seed: v.seed, only: map[string]bool{token: true}, first: slices.Clone(v.first), last: v.last}
	one.line = func(s string) { want = append(want, s) }
	if err := one.refold(ctx); err != nil {
		return Difference{}, err
	}
	one.line = func(s string) { got = append(got, s) }
	if err := one.read(ctx); err != nil {
		return Difference{}, err
	}
	d := Difference{Token: token}
	for d.Place < min(len(want), len(got)) && want[d.Place] == got[d.Place] {
		d.Place++
	}
	if d.Place < len(want) {
		d.Want = want[d.Place]
	}
	if d.Place < len(got) {
		d.Got = got[d.Place]
	}
	return d, nil
}
