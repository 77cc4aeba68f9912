package chaos

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/client"
	"streamer/internal/worker"
)

// operator repairs the input log of partitions that stopped, and closes held sessions,
// with `streamer recover`, and calls that wait for lost inputs with `streamer interrupt`.
type operator struct {
	t        *testing.T
	streamer string // program
	url      string
	gateways []string        // addresses of the HTTP APIs
	asked    time.Time       // when recover was run last
	closed   map[string]bool // sessions
	// repaired and killed count the runs of recover that repaired partitions, and those
	// that were killed.
	repaired, killed int
}

// watch runs `streamer recover --yes` where /readyz says that a partition stopped because
// the input log came back shorter, until ctx ends. Half of the runs are killed: the first
// five seconds they only ask again whether the log is that short.
func (o *operator) watch(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		if !o.rewound(ctx) {
			continue
		}
		limited, cancel := ctx, context.CancelFunc(func() {})
		if rnd.IntN(2) == 0 {
			limited, cancel = context.WithTimeout(ctx, 5*time.Second+time.Duration(rnd.IntN(2000))*time.Millisecond)
		}
		o.recoverAll(limited)
		if limited.Err() != nil {
			o.killed++
		}
		cancel()
	}
}

// rewound reports whether /readyz of a gateway says that a partition stopped because the
// input log came back shorter.
func (o *operator) rewound(ctx context.Context) bool {
	for _, addr := range o.gateways {
		body, err := o.readyz(ctx, addr)
		if err == nil && strings.Contains(body, worker.ErrRewound.Error()) {
			return true
		}
	}
	return false
}

// readyz returns the answer of a gateway, which may be down.
func (o *operator) readyz(ctx context.Context, addr string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// attend runs `streamer recover`, at most every two seconds, and runs it again
// with --yes if the output names partitions.
func (o *operator) attend(ctx context.Context) {
	if time.Since(o.asked) < 2*time.Second {
		return
	}
	o.asked = time.Now()
	out, err := o.recover(ctx)
	if err == nil || !strings.Contains(out, "partition ") { // nothing is lost, or a server did not answer
		return
	}
	o.recoverAll(ctx)
}

// recoverAll runs `streamer recover --yes`.
func (o *operator) recoverAll(ctx context.Context) {
	out, err := o.recover(ctx, "--yes")
	for _, s := range sessionsIn(out) { // also where the command was killed later
		o.closed[s] = true
	}
	if n := strings.Count(out, endLost); n > 0 {
		o.repaired++
		o.t.Logf("recover --yes repaired the input log of %d partitions", n)
	}
	if err != nil && ctx.Err() == nil {
		o.t.Logf("recover --yes: %v\n%s", err, out)
	}
}

// endLost is what recover prints of a partition whose input log it repairs.
const endLost = "the input log lost its end"

// closeWaiting interrupts the sessions with a call whose deadline is not within the
// test. Such a call was open when its run began, and waits for an answer from outside
// that can be among the lost inputs.
func (o *operator) closeWaiting(ctx context.Context, b *client.Broker) error {
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
