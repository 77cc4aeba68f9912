package chaos

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// operator closes sessions that are held, as a person would by the command.
type operator struct {
	t        *testing.T
	streamer string // program
	url      string
	asked    time.Time
	closed   map[string]bool // sessions
}

// attend runs `streamer recover` where it did not lately, and with --yes where it
// names sessions.
func (o *operator) attend(ctx context.Context) {
	if time.Since(o.asked) < 2*time.Second {
		return
	}
	o.asked = time.Now()
	out, err := o.recover(ctx)
	if err == nil { // nothing to do
		return
	}
	held := sessionsIn(out)
	if len(held) == 0 { // a server did not answer: it is asked again
		return
	}
	if out, err := o.recover(ctx, "--yes"); err != nil {
		o.t.Logf("recover --yes: %v\n%s", err, out)
		return
	}
	o.t.Logf("recover --yes closed %d sessions that were held", len(held))
	for _, s := range held {
		o.closed[s] = true
	}
}

func (o *operator) recover(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, o.streamer, append([]string{"recover", "--nats-url", o.url}, args...)...).CombinedOutput()
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

// sessions lists those that were closed.
func (o *operator) sessions() []string { return slices.Sorted(maps.Keys(o.closed)) }
