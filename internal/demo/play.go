package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/server"
	"streamer/internal/session"

	"golang.org/x/sync/errgroup"
)

type player struct {
	speed    time.Duration // how many times faster than recorded; 0 without pauses
	broker   *client.Broker
	rules    *session.Rules
	watched  func(session string) bool
	patience time.Duration // how long calls may stay open after the last input
	parts    []*part
}

// part is one session of the demo.
type part struct {
	name     string // of the session
	recorded string // name of the recording
	inputs   []client.Recorded
	calls    int // in inputs
	log      callLog
}

// newPlayer reads the recorded sessions. Their names end in suffix.
func newPlayer(server *server.Server, suffix string, speed time.Duration) (*player, error) {
	p := &player{speed: speed, broker: server.Broker, watched: server.Watched, rules: server.Worker.Options.Rules}
	p.patience = longest(p.rules) + 10*time.Second
	for _, name := range names() {
		inputs, err := recording(name)
		if err != nil {
			return nil, err
		}
		s := &part{name: name + "-" + suffix, recorded: name, inputs: inputs}
		for _, e := range fold(inputs) {
			if e.Type == events.ToolCallStart {
				s.calls++
			}
		}
		p.parts = append(p.parts, s)
	}
	return p, nil
}

// restAfter is the time between two rounds at speed 1.
const restAfter = 4 * time.Second

// run plays all sessions, each when it is to begin, and writes a summary.
func (p *player) run(ctx context.Context, out io.Writer, o Options) error {
	for _, s := range p.parts {
		if err := awaitRules(ctx, p.broker, s.name, p.rules); err != nil {
			return err
		}
	}
	switch {
	case o.Key != nil:
		fmt.Fprintln(out, "Each session begins when its page is open, and all begin with Enter.")
	case !o.Once:
		fmt.Fprintln(out, "Each session begins when its page is open.")
	}
	all, playing := errgroup.WithContext(ctx)
	for _, s := range p.parts {
		all.Go(func() error { return p.rounds(playing, out, o, s) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(out, "demo: %d sessions, %s\n", len(p.parts), summary(p.parts...))
	return nil
}

// rounds plays a session, with Options.Loop again and again.
func (p *player) rounds(ctx context.Context, out io.Writer, o Options, s *part) error {
	for round := 1; ; round++ {
		if err := p.awaitStart(ctx, o, s, round); err != nil {
			return err
		}
		s.log.expected += s.calls
		if err := p.publish(ctx, s, s.round(round)); err != nil {
			return err
		}
		if err := p.awaitClosed(ctx, s); err != nil {
			return err
		}
		if !o.Once {
			fmt.Fprintf(out, "%s: %s\n", s.name, summary(s))
		}
		if !o.Loop {
			return nil
		}
		if p.speed > 0 {
			if err := client.Sleep(ctx, restAfter/p.speed); err != nil {
				return err
			}
		}
	}
}

// awaitStart waits until a round of a session is to begin: at once with Options.Once,
// otherwise when the session is watched. Options.Key begins the first round too.
func (p *player) awaitStart(ctx context.Context, o Options, s *part, round int) error {
	if o.Once {
		return nil
	}
	var key <-chan struct{}
	if round == 1 {
		key = o.Key
	}
	for !p.watched(s.name) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-key:
			return nil
		case <-time.After(pollEvery):
		}
	}
	return nil
}

func (p *player) publish(ctx context.Context, s *part, inputs []client.Recorded) error {
	token, err := events.Token(s.name)
	if err != nil {
		return err
	}
	r := client.Replayer{Broker: p.broker, Token: token, Speed: p.speed}
	for i, in := range inputs {
		if err := r.Recorded(ctx, in, i+1); err != nil {
			return fmt.Errorf("session %s: %w", s.name, err)
		}
	}
	return nil
}

// pollEvery is the time between two reads of the event log.
const pollEvery = 100 * time.Millisecond

func (p *player) awaitClosed(ctx context.Context, s *part) error {
	for deadline := time.Now().Add(p.patience); ; {
		if err := s.log.read(ctx, p.broker, s.name); err != nil {
			return err
		}
		open := s.log.open()
		if len(open) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("session %s: still open after %s: %s", s.name, p.patience, strings.Join(open, "; "))
		}
		if err := client.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// summary returns how the calls of sessions ended.
func summary(parts ...*part) string {
	calls, ends := 0, map[events.Status]int{}
	for _, s := range parts {
		calls += len(s.log.calls)
		for _, c := range s.log.calls {
			ends[c.status]++
		}
	}
	var words []string
	for _, status := range [...]events.Status{events.Completed, events.TimedOut, events.Cancelled, events.Error, events.Denied} {
		if n := ends[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	return fmt.Sprintf("%d calls: %s", calls, strings.Join(words, ", "))
}

// callLog is the state of a session's calls according to its event log.
type callLog struct {
	expected int    // number of calls of the session
	seq      uint64 // of the last event read
	calls    []call
}

// call is one call. Its status is not terminal while it is open.
type call struct {
	call, tool string
	status     events.Status
}

func (l *callLog) read(ctx context.Context, b *client.Broker, name string) error {
	token, err := events.Token(name)
	if err != nil {
		return err
	}
	return b.Events(ctx, token, l.seq, func(stored events.Record) error {
		l.seq = stored.Seq
		if stored.Type != events.ToolCallStart && stored.Type != events.ToolCallResult {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(stored.Data, &e); err != nil {
			return fmt.Errorf("session %s: event %d: %w", name, stored.Seq, err)
		}
		i := slices.IndexFunc(l.calls, func(c call) bool { return c.call == e.Call })
		if i < 0 {
			i, l.calls = len(l.calls), append(l.calls, call{call: e.Call, tool: e.ToolName})
		}
		l.calls[i].status = e.Status
		return nil
	})
}

func (l *callLog) open() []string {
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

// rulesTime bounds the wait for the settings to come into force.
const rulesTime = 30 * time.Second

// awaitRules waits until rules are in force in the partition of a session: a
// worker appends its settings after it has read the log to its end.
func awaitRules(ctx context.Context, b *client.Broker, name string, rules *session.Rules) error {
	ours, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	token, err := events.Token(name)
	if err != nil {
		return err
	}
	p := b.Partition(token)
	waiting, cancel := context.WithTimeout(ctx, rulesTime)
	defer cancel()
	for {
		last, err := lastRules(waiting, b, p)
		if err == nil && bytes.Equal(last, ours) {
			return nil
		}
		if err == nil {
			err = client.Sleep(waiting, pollEvery)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("the demo's settings did not come into force in partition %d within %s: %w", p, rulesTime, err)
		}
	}
}

// lastRules returns the last settings of a partition, or those of its checkpoint if the
// input log has no later ones.
func lastRules(ctx context.Context, b *client.Broker, p int) ([]byte, error) {
	in, ok, err := b.LastRules(ctx, p)
	if err != nil || ok {
		return in.Data, err
	}
	mark, _, err := b.LoadCheckpoint(ctx, p)
	if err != nil || len(mark.Rules) > 0 {
		return mark.Rules, err
	}
	return json.Marshal(lifecycle.DefaultRules())
}
