package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/server"
	"streamer/internal/session"
)

type player struct {
	speed    time.Duration // how many times faster than recorded; 0 without pauses
	broker   *client.Broker
	rules    *session.Rules
	viewers  func() int    // number of open event streams
	patience time.Duration // how long calls may stay open after the last input
	parts    []*part
}

// part is one session of the demo.
type part struct {
	name   string // of the session
	inputs []client.Recorded
	calls  int // in inputs
	log    callLog
}

// newPlayer reads the recorded sessions. Their names end in suffix.
func newPlayer(server *server.Server, suffix string, speed time.Duration) (*player, error) {
	p := &player{speed: speed, broker: server.Broker, viewers: server.Viewers, rules: server.Worker.Options.Rules}
	p.patience = longest(p.rules) + 10*time.Second
	for _, name := range names() {
		inputs, err := recording(name)
		if err != nil {
			return nil, err
		}
		s := &part{name: name + "-" + suffix, inputs: inputs}
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

// rounds plays the sessions once, or with Options.Loop until ctx ends. It prints a
// summary after each round.
func (p *player) rounds(ctx context.Context, out io.Writer, o Options) error {
	for _, s := range p.parts {
		if err := awaitRules(ctx, p.broker, s.name, p.rules); err != nil {
			return err
		}
	}
	for round := 1; ; round++ {
		if err := p.awaitStart(ctx, out, o, round); err != nil {
			return err
		}
		if err := p.play(ctx, round); err != nil {
			return err
		}
		fmt.Fprintln(out, p.summary())
		if !o.Loop {
			return nil
		}
		if p.speed > 0 {
			if err := sleep(ctx, restAfter/p.speed); err != nil {
				return err
			}
		}
	}
}

// awaitStart waits until a round is to begin: at once with Options.Once, otherwise
// when there is a viewer. Options.Key begins the first round too.
func (p *player) awaitStart(ctx context.Context, out io.Writer, o Options, round int) error {
	if o.Once {
		return nil
	}
	if round == 1 {
		fmt.Fprint(out, startText(o))
	}
	key := o.Key
	if round > 1 {
		key = nil
	}
	for p.viewers() == 0 {
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

func startText(o Options) string {
	if o.Key == nil {
		return "The sessions begin when one of these pages is open.\n"
	}
	return "The sessions begin when one of these pages is open, or with Enter.\n"
}

func (p *player) play(ctx context.Context, round int) error {
	errs := make([]error, len(p.parts))
	var wg sync.WaitGroup
	for i, s := range p.parts {
		s.log.expected += s.calls
		wg.Go(func() { errs[i] = p.publish(ctx, s, s.round(round)) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.awaitClosed(ctx)
}

func (p *player) publish(ctx context.Context, s *part, inputs []client.Recorded) error {
	token, err := events.Token(s.name)
	if err != nil {
		return err
	}
	r := client.Replayer{Broker: p.broker, Token: token, Speed: p.speed}
	if p.speed > 0 { // the sessions do not begin at the same time
		if err := sleep(ctx, inputs[0].At/p.speed); err != nil {
			return err
		}
	}
	for i, in := range inputs {
		if err := r.Recorded(ctx, in, i+1); err != nil {
			return fmt.Errorf("session %s: %w", s.name, err)
		}
	}
	return nil
}

// pollEvery is the time between two reads of the event log.
const pollEvery = 100 * time.Millisecond

// awaitClosed waits until every call is closed. Its error names the calls that
// stay open too long.
func (p *player) awaitClosed(ctx context.Context) error {
	for deadline := time.Now().Add(p.patience); ; {
		var open []string
		for _, s := range p.parts {
			if err := s.log.read(ctx, p.broker, s.name); err != nil {
				return err
			}
			for _, what := range s.log.open() {
				open = append(open, s.name+": "+what)
			}
		}
		if len(open) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still open after %s: %s", p.patience, strings.Join(open, "; "))
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func (p *player) summary() string {
	calls, ends := 0, map[events.Status]int{}
	for _, s := range p.parts {
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
	return fmt.Sprintf("demo: %d sessions, %d calls: %s", len(p.parts), calls, strings.Join(words, ", "))
}

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
