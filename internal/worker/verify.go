package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"streamer/internal/broker"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/session"
)

// Logs is what Verify reads.
type Logs interface {
	Partitions() int
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []broker.Input, next uint64, caughtUp bool) error) error
	Events(ctx context.Context, token string, after uint64, fn func(broker.Stored) error) error
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
}

// Report is what Verify found.
type Report struct {
	Sessions, Events, Inputs int
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
	return fmt.Sprintf("session %s, event %d:\n want %s\n got  %s", d.Token, d.Place, d.Want, d.Got)
}

// Verify folds the whole input log again, apart from any saved state, and
// compares the result with the event log: subjects, ids, bodies, chain links
// and blobs. Nothing may be appended meanwhile, and both logs must begin where
// the sessions do.
func Verify(ctx context.Context, log Logs) (Report, error) {
	var r Report
	want := map[string][]string{}
	_, last, err := log.InputBounds(ctx)
	if err != nil {
		return r, err
	}
	for p := range log.Partitions() {
		if err := refold(ctx, log, p, last, want, &r); err != nil {
			return r, fmt.Errorf("worker: folding partition %d again: %w", p, err)
		}
	}
	got := map[string][]string{}
	prev := map[string]uint64{}
	err = log.Events(ctx, "", 0, func(e broker.Stored) error {
		line := describe(e.Subject, e.ID, e.Call, e.Data)
		if e.Prev != prev[e.Token] {
			line = fmt.Sprintf("%s (broken link: behind %d, says %d)", line, prev[e.Token], e.Prev)
		}
		prev[e.Token] = e.Seq
		got[e.Token] = append(got[e.Token], line)
		r.Events++
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("worker: reading the event log: %w", err)
	}
	r.compare(want, got)
	return r, nil
}

var errRead = errors.New("read")

// refold folds the inputs of a partition up to last.
func refold(ctx context.Context, log Logs, p int, last uint64, want map[string][]string, r *Report) error {
	if last == 0 {
		return nil
	}
	var rules rulesLog
	if err := rules.begin(broker.Mark{}); err != nil {
		return err
	}
	states := map[string]*session.State{}
	var reader decode.Reader
	err := log.Inputs(ctx, p, 1, func(batch []broker.Input, next uint64, caughtUp bool) error {
		for i := range batch {
			in := &batch[i]
			switch {
			case in.Seq > last:
				return errRead
			case in.Foreign:
			case in.Kind == broker.KindRules:
				if err := rules.set(in); errors.Is(err, ErrVersion) {
					return err
				}
			default:
				r.Inputs++
				lines, err := foldOne(ctx, log, states, &reader, in, rules.inForce())
				if err != nil {
					return err
				}
				want[in.Token] = append(want[in.Token], lines...)
			}
		}
		if caughtUp || next > last {
			return errRead
		}
		return nil
	})
	if errors.Is(err, errRead) {
		return nil
	}
	return err
}

func foldOne(ctx context.Context, log Logs, states map[string]*session.State, reader *decode.Reader, in *broker.Input, rules *session.Rules) ([]string, error) {
	s := states[in.Token]
	if s == nil {
		s = new(session.State)
		states[in.Token] = s
	}
	out := session.Fold(nil, s, sessionInput(in, rules, reader))
	lines := make([]string, len(out))
	for i := range out {
		e := &out[i]
		body, err := e.Body()
		if err != nil {
			return nil, err
		}
		lines[i] = describe(e.Subject(in.Token), e.EventID, e.Call, body)
		for _, b := range e.Blobs {
			if _, err := log.Blob(ctx, b.Ref); err != nil {
				lines[i] += fmt.Sprintf(" (blob: %v)", err)
			}
		}
	}
	return lines, nil
}

// describe writes what must be equal of an event.
func describe(subject string, id events.ID, call string, body []byte) string {
	return fmt.Sprintf("%s %s %s %s", subject, id, call, body)
}

func (r *Report) compare(want, got map[string][]string) {
	tokens := map[string]bool{}
	for t := range want {
		tokens[t] = true
	}
	for t := range got {
		tokens[t] = true
	}
	r.Sessions = len(tokens)
	for t := range tokens {
		w, g := want[t], got[t]
		for i := range max(len(w), len(g)) {
			d := Difference{Token: t, Place: i}
			if i < len(w) {
				d.Want = w[i]
			}
			if i < len(g) {
				d.Got = g[i]
			}
			if d.Want != d.Got {
				r.Differences = append(r.Differences, d)
				break
			}
		}
	}
	slices.SortFunc(r.Differences, func(a, b Difference) int { return strings.Compare(a.Token, b.Token) })
}
