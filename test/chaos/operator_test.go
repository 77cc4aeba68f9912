package chaos

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/app"
)

// operator closes held sessions with `streamer recover`, and calls that wait for lost
// inputs with `streamer interrupt`.
type operator struct {
	t        *testing.T
	streamer string // program
	url      string
	asked    time.Time       // when recover was run last
	closed   map[string]bool // sessions
}

// closeHeld runs `streamer recover`, at most every two seconds, and runs it again
// with --yes if the output names sessions.
func (o *operator) closeHeld(ctx context.Context) {
	if time.Since(o.asked) < 2*time.Second {
		return
	}
	o.asked = time.Now()
	out, err := o.recover(ctx)
	if err == nil { // no session is held
		return
	}
	held := sessionsIn(out)
	if len(held) == 0 { // a server did not answer
		return
	}
	if out, err := o.recover(ctx, "--yes"); err != nil {
		o.t.Logf("recover --yes: %v\n%s", err, out)
		return
	}
	o.t.Logf("recover --yes closed %d held sessions", len(held))
	for _, s := range held {
		o.closed[s] = true
	}
}

// closeWaiting interrupts the sessions with a call whose deadline is not within the
// test. Such a call was open when its run began, and waits for an answer from outside
// that can be among the lost inputs.
func (o *operator) closeWaiting(ctx context.Context, b *app.Broker) error {
	items, err := openItems(ctx, b)
	for i, deadline := range items {
		if time.Until(deadline.Std()) < settleTime {
			continue
		}
		if out, err := o.run(ctx, "interrupt", i.token); err != nil {
			return fmt.Errorf("streamer interrupt %s: %w\n%s", i.token, err, out)
		}
		o.t.Logf("interrupt closed the calls of session %s", i.token)
	}
	return err
}

// recover runs `streamer recover` and returns its output.
func (o *operator) recover(ctx context.Context, args ...string) (string, error) {
	return o.run(ctx, "recover", args...)
}

// run runs a command on the cluster and returns its output.
func (o *operator) run(ctx context.Context, command string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, o.streamer, append([]string{command, "--nats-url", o.url}, args...)...).CombinedOutput()
	return string(out), err
}

// sessionsIn returns the sessions that the output of recover names.
func sessionsIn(out string) (list []string) {
	for line := range strings.Lines(out) {
		if token, ok := strings.CutPrefix(strings.TrimSpace(line), "session "); ok {
			list = append(list, token)
		}
	}
	return list
}

// sessions lists the sessions that were closed.
func (o *operator) sessions() []string { return slices.Sorted(maps.Keys(o.closed)) }
