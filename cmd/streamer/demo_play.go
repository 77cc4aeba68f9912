package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/nats-io/nuid"
)

//go:embed demo/*.jsonl
var demoFiles embed.FS

// demoSessions are the recorded sessions, the one to look at first before the
// others.
var demoSessions = [...]string{"trip-planner", "code-review", "data-analyst", "support-desk", "night-report"}

// recorded is one line of a recorded session: an input, and when it came.
type recorded struct {
	At   int64           `json:"at"`   // milliseconds since the session's start
	Kind inputs.Kind     `json:"kind"` // delta, result, progress, interrupt or end
	Data json.RawMessage `json:"data"`
}

// recording reads a recorded session.
func recording(name string) ([]recorded, error) {
	data, err := demoFiles.ReadFile("demo/" + name + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("recorded session %s: %w", name, err)
	}
	var list []recorded
	for line := range bytes.Lines(data) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("recorded session %s, line %d: %w", name, len(list)+1, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// rehearse folds a recorded session offline, with no clock, and gives its
// events.
func rehearse(name string, lines []recorded) []events.Event {
	var s session.State
	var out []events.Event
	for i, in := range lines {
		out = session.Fold(out, &s, session.Input{Input: inputs.Input{
			Seq: uint64(i + 1), At: time.UnixMilli(in.At), Token: name, Kind: in.Kind, Data: in.Data,
		}})
	}
	return out
}

// stage is where the recorded sessions are played.
type stage struct {
	speed    time.Duration // how many times faster; 0 without any pause
	broker   *broker.Broker
	rules    *session.Rules
	patience time.Duration // how long calls may stay open after the last input
	parts    []*part
}

// part is one session of the demo.
type part struct {
	name   string // of the session
	inputs []recorded
	ledger ledger
}

// newStage takes the recorded sessions and gives each a name that ends in
// suffix.
func newStage(suffix string, speed time.Duration) (*stage, error) {
	s := &stage{speed: speed}
	for _, name := range demoSessions {
		inputs, err := recording(name)
		if err != nil {
			return nil, err
		}
		p := &part{name: name + "-" + suffix, inputs: inputs}
		for _, e := range rehearse(name, inputs) {
			if e.Type == events.ToolCallStart {
				p.ledger.expected++
			}
		}
		s.parts = append(s.parts, p)
	}
	return s, nil
}

// announce says where to look.
func (s *stage) announce(w io.Writer, h *house) {
	fmt.Fprintf(w, "open      %s\n", h.session(s.parts[0].name))
	for _, p := range s.parts[1:] {
		fmt.Fprintf(w, "and       %s\n", h.session(p.name))
	}
	fmt.Fprintf(w, "events    nats --server %s sub 'toolcalls.>'\n\n", h.broker.URL())
}

// session is the address of a session's page.
func (h *house) session(name string) string {
	return h.page() + "#session=" + url.QueryEscape(name)
}

// play plays every part and waits until its calls are closed.
func (s *stage) play(ctx context.Context) error {
	for _, p := range s.parts {
		if err := ruledBy(ctx, s.broker, p.name, s.rules); err != nil {
			return err
		}
	}
	errs := make([]error, len(s.parts))
	var wg sync.WaitGroup
	for i, p := range s.parts {
		wg.Go(func() { errs[i] = s.perform(ctx, p) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.settle(ctx)
}

// perform publishes the inputs of one part, each at its time.
func (s *stage) perform(ctx context.Context, p *part) error {
	token, err := events.Token(p.name)
	if err != nil {
		return err
	}
	r := replayer{b: s.broker, token: token, nonce: nuid.Next()}
	began := time.Now()
	for _, in := range p.inputs {
		if s.speed > 0 {
			due := began.Add(time.Duration(in.At) * time.Millisecond / s.speed)
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		r.n++
		if err := r.input(ctx, in.Kind, in.Data); err != nil {
			return fmt.Errorf("session %s: %w", p.name, err)
		}
	}
	return nil
}

// settle waits until every call of the demo is closed, and names those that
// stay open too long.
func (s *stage) settle(ctx context.Context) error {
	for deadline := time.Now().Add(s.patience); ; {
		var open []string
		for _, p := range s.parts {
			if err := p.ledger.read(ctx, s.broker, p.name); err != nil {
				return err
			}
			for _, what := range p.ledger.open() {
				open = append(open, p.name+": "+what)
			}
		}
		if len(open) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still open after %s: %s", s.patience, strings.Join(open, "; "))
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// summary counts the calls of the demo by how they ended.
func (s *stage) summary() string {
	calls, ends := 0, map[events.Status]int{}
	for _, p := range s.parts {
		calls += len(p.ledger.calls)
		for _, c := range p.ledger.calls {
			ends[c.status]++
		}
	}
	var words []string
	for _, status := range [...]events.Status{events.Completed, events.TimedOut, events.Cancelled, events.Error, events.Denied} {
		if n := ends[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	return fmt.Sprintf("demo: %d sessions, %d calls: %s", len(s.parts), calls, strings.Join(words, ", "))
}

const pollEvery = 100 * time.Millisecond

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// ledger is what the event log says of the calls of a session.
type ledger struct {
	expected int    // calls that the session has
	seq      uint64 // of the last event read
	calls    []ledgerCall
}

type ledgerCall struct {
	call, tool string
	status     events.Status
}

// read takes the events that are new since the last time.
func (l *ledger) read(ctx context.Context, b *broker.Broker, name string) error {
	token, err := events.Token(name)
	if err != nil {
		return err
	}
	return b.Events(ctx, token, l.seq, func(stored broker.Stored) error {
		l.seq = stored.Seq
		if stored.Type != events.ToolCallStart && stored.Type != events.ToolCallResult {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(stored.Data, &e); err != nil {
			return fmt.Errorf("session %s: event %d: %w", name, stored.Seq, err)
		}
		i := slices.IndexFunc(l.calls, func(c ledgerCall) bool { return c.call == e.Call })
		if i < 0 {
			i, l.calls = len(l.calls), append(l.calls, ledgerCall{call: e.Call, tool: e.ToolName})
		}
		l.calls[i].status = e.Status
		return nil
	})
}

// open names the calls that are not closed, or have not even begun.
func (l *ledger) open() []string {
	var open []string
	for _, c := range l.calls {
		if !c.status.Terminal() {
			open = append(open, "call "+c.call+" of "+c.tool)
		}
	}
	if missing := l.expected - len(l.calls); missing > 0 {
		open = append(open, fmt.Sprintf("%d calls have not begun", missing))
	}
	return open
}
