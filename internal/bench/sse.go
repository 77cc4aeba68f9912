package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// SSEOptions configures a run of the measurements of event streams.
type SSEOptions struct {
	// Program is the streamer program that serves the streams, in a process of its
	// own on loopback with a temporary data directory. The load client is this
	// process.
	Program string `kong:"-"`

	Idle     int           `placeholder:"NUMBER" default:"10000" help:"number of idle streams of one session whose memory is measured; if 0, none"`
	Viewers  int           `placeholder:"NUMBER" default:"1000" help:"number of streams of one session that receives events; if 0, none"`
	Sessions int           `placeholder:"NUMBER" default:"10000" help:"number of sessions with one stream each; if 0, none"`
	Replays  int           `placeholder:"NUMBER" default:"1000" help:"number of streams that read a history of 2 MB at once; if 0, none"`
	Rate     int           `placeholder:"NUMBER" default:"50" help:"events per second of the session with --viewers"`
	Duration time.Duration `placeholder:"DURATION" default:"20s" help:"time for which each latency is measured; at least 1s"`
}

// Check returns an error that names the flag with an invalid value.
func (o *SSEOptions) Check() error {
	for _, f := range []struct {
		name       string
		got, least int
	}{
		{"idle", o.Idle, 0}, {"viewers", o.Viewers, 0}, {"sessions", o.Sessions, 0}, {"replays", o.Replays, 0}, {"rate", o.Rate, 1},
	} {
		if f.got < f.least {
			return fmt.Errorf("invalid --%s %d: need at least %d", f.name, f.got, f.least)
		}
	}
	if o.Duration < MinDuration {
		return fmt.Errorf("invalid --duration %s: need at least %s", o.Duration, MinDuration)
	}
	return o.checkFiles()
}

// spareFiles is the number of files that a process needs besides its connections.
const spareFiles = 200

// most returns the largest number of connections that are open at once.
func (o *SSEOptions) most() int { return max(o.Idle, o.Viewers, o.Sessions, o.Replays) }

// checkFiles returns an error if a process may not open as many files as there are
// connections at once. The server inherits the limit of this process.
func (o *SSEOptions) checkFiles() error {
	limit := maxFiles()
	if need := uint64(o.most() + spareFiles); limit > 0 && need > limit {
		return fmt.Errorf("%d streams at once need %d open files, and the limit of this process is %d: raise it with ulimit -n, or measure fewer", o.most(), need, limit)
	}
	return nil
}

// SSEResult is the result of a run, in the units of its JSON names. A measurement
// that was not made is absent.
type SSEResult struct {
	Cores    int     `json:"cores"`
	Load     string  `json:"load_average"` // of the machine before the run
	Idle     *Idle   `json:"idle,omitempty"`
	Viewers  *FanOut `json:"viewers,omitempty"`
	Sessions *FanOut `json:"sessions,omitempty"`
	Replay   *Replay `json:"replay,omitempty"`
}

// Shares are the parts of the machine's CPU time that two processes used.
type Shares struct {
	Server float64 `json:"server_cpu_share"`
	Client float64 `json:"client_cpu_share"`
}

// RunSSE measures event streams. Each measurement has a server of its own. A run
// stops with an error at the first failure, which includes an event that a client
// did not receive exactly once.
func RunSSE(ctx context.Context, progress io.Writer, o SSEOptions) (r SSEResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	r.Cores, r.Load = runtime.NumCPU(), loadAverage()
	total := 0
	for _, n := range []int{o.Idle, o.Viewers, o.Sessions, o.Replays} {
		total += min(n, 1)
	}
	steps := showSteps(ctx, progress, total)
	defer steps.end()
	on := func(what string, n int, measure func(s *sseServer) error) {
		if n == 0 || err != nil {
			return
		}
		steps.next(fmt.Sprintf("%s (%d)", what, n))
		if err = o.onServer(ctx, measure); err != nil {
			err = fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(ctx)))
		}
	}
	on("idle streams", o.Idle, func(s *sseServer) (err error) { r.Idle, err = s.idle(ctx, o.Idle); return err })
	on("viewers of one session", o.Viewers, func(s *sseServer) (err error) { r.Viewers, err = s.viewers(ctx, &o); return err })
	on("sessions with one viewer each", o.Sessions, func(s *sseServer) (err error) { r.Sessions, err = s.sessions(ctx, &o); return err })
	on("replay of one history", o.Replays, func(s *sseServer) (err error) { r.Replay, err = s.replay(ctx, o.Replays); return err })
	return r, err
}

// onServer runs a measurement on a new server.
func (o *SSEOptions) onServer(ctx context.Context, measure func(s *sseServer) error) (err error) {
	s, err := startSSE(ctx, o)
	if err == nil {
		err = measure(s)
	}
	return errors.Join(err, s.stop())
}

// loadAverage returns the load averages of the machine, "" if they are not known.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(b))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
