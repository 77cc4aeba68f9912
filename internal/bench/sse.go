package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"streamer/internal/client"
)

// SSEOptions configures a measurement of event streams.
type SSEOptions struct {
	Streams  int           `placeholder:"NUMBER" default:"1000" help:"number of streams"`
	Sessions int           `placeholder:"NUMBER" default:"1" help:"number of sessions that the streams follow, at most --streams"`
	Rate     int           `placeholder:"NUMBER" default:"50" help:"events per second of all sessions"`
	Duration time.Duration `placeholder:"DURATION" default:"20s" help:"time for which the latency is measured; longer if a session would have no event"`
}

// Check returns an error that names the flag with an invalid value.
func (o *SSEOptions) Check() error {
	return errors.Join(AtLeast("sessions", o.Sessions, 1), AtLeast("streams", o.Streams, o.Sessions),
		AtLeast("rate", o.Rate, 1), AtLeast("duration", o.Duration, time.Second))
}

// SSEResult is the delivery of events to streams, in the units of its JSON names.
type SSEResult struct {
	Streams   int `json:"streams"`
	Delivered int `json:"delivered"`
	Lost      int `json:"lost"`
	Twice     int `json:"twice"`
	// Latency is the time from publishing a delta to its event at a client, through
	// both logs and the fold.
	Latency   Quantiles `json:"latency"`
	Bare      Quantiles `json:"bare_latency"`       // through one subscription and one write per stream and event
	PerStream float64   `json:"rss_kib_per_stream"` // memory of the server process before the events
	ServerCPU float64   `json:"server_cpu_us_per_delivered"`
}

// Measure measures event streams: this program serves them in a process of its own, on
// loopback with a temporary data directory. It returns an error if a client does not
// receive every text of its session exactly once.
func (o *SSEOptions) Measure(ctx context.Context) (*SSEResult, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &SSEResult{Streams: o.Streams}
	return r, OnServer(ctx, program, o.Streams, func(s *Server) error {
		if err := s.fanOut(ctx, o, r); err != nil {
			return err
		}
		return s.bareFanOut(ctx, program, o, r)
	})
}

const (
	warmUp    = 100              // streams that are opened before memory is measured
	openers   = 32               // streams that are opened at once
	quietTime = 20 * time.Second // time after which a quiet server has returned its garbage
)

func (o *SSEOptions) session(i int) string { return "bench-" + strconv.Itoa(i%o.Sessions) }

func (s *Server) fanOut(ctx context.Context, o *SSEOptions, r *SSEResult) error {
	warm, cancel := context.WithCancel(ctx)
	_, err := s.OpenAll(warm, warmUp, openers, func(int) string { return "bench-warm" })
	if cancel(); err != nil {
		return err
	}
	time.Sleep(quietTime)
	before, _, err := use(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	var after float64
	var cpu time.Duration
	all, err := s.follow(ctx, o, func() {
		time.Sleep(quietTime)
		after, cpu, _ = use(s.cmd.Process.Pid) // as it could be read before
	})
	if err != nil {
		return err
	}
	_, end, _ := use(s.cmd.Process.Pid)
	for _, c := range all {
		r.Delivered += c.Events
		r.Twice += c.Twice
	}
	r.PerStream = (after - before) / 1024 / float64(o.Streams)
	r.ServerCPU = float64((end - cpu).Microseconds()) / float64(r.Delivered)
	delays := delaysOf(all)
	if r.Lost = o.each()*o.Streams - len(delays); r.Lost != 0 || r.Twice > 0 {
		return fmt.Errorf("%d texts were lost and %d events received twice", r.Lost, r.Twice)
	}
	r.Latency = quantiles(delays)
	return nil
}

// bareFanOut measures the same streams through a process that does nothing else.
func (s *Server) bareFanOut(ctx context.Context, program string, o *SSEOptions, r *SSEResult) error {
	url, err := os.ReadFile(filepath.Join(s.dir, client.URLFile))
	if err != nil {
		return err
	}
	page, stop, err := startBare(ctx, program, strings.TrimSpace(string(url)))
	if err != nil {
		return err
	}
	defer stop()
	all, err := (&Server{feed: s.feed, page: page + "/"}).follow(ctx, o, func() {})
	if err != nil {
		return err
	}
	delays := delaysOf(all)
	if lost := o.each()*o.Streams - len(delays); lost != 0 {
		return fmt.Errorf("the bare fan-out lost %d texts", lost)
	}
	r.Bare = quantiles(delays)
	return nil
}

// each returns the number of texts of each session.
func (o *SSEOptions) each() int { return max(int(o.Duration.Seconds())*o.Rate/o.Sessions, 1) }

// follow opens all streams, calls ready, and publishes to them.
func (s *Server) follow(ctx context.Context, o *SSEOptions, ready func()) ([]*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all, err := s.OpenAll(ctx, o.Streams, openers, o.session)
	if err != nil {
		return nil, err
	}
	ready()
	return all, s.deliver(ctx, cancel, o, all, o.each()*o.Sessions)
}

func delaysOf(all []*Stream) (delays []time.Duration) {
	for _, c := range all {
		delays = append(delays, c.delays...)
	}
	return delays
}

// deliver publishes texts to the sessions in turn and, as the last one of each,
// LastText. It waits until all streams have received it, and cancels them if they do
// not.
func (s *Server) deliver(ctx context.Context, cancel func(), o *SSEOptions, all []*Stream, texts int) (err error) {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() { errs[i] = c.ReadUntil(&c.Last) })
	}
	tick := time.NewTicker(time.Second / time.Duration(o.Rate))
	defer tick.Stop()
	for i := 0; i < texts && err == nil; i++ {
		<-tick.C
		err = s.Text(ctx, o.session(i), now())
	}
	for i := 0; i < o.Sessions && err == nil; i++ {
		err = s.Text(ctx, o.session(i), LastText)
	}
	if err != nil {
		cancel()
	}
	defer time.AfterFunc(receiveTime, cancel).Stop()
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// Print writes the result as a table.
func (r *SSEResult) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name string, q Quantiles) {
		fmt.Fprintf(w, "%d streams, %s\tp50 %.1f ms\tp99 %.1f ms\tp99.9 %.1f ms\n", r.Streams, name, q.P50/1000, q.P99/1000, q.P999/1000)
	}
	line("delta to event", r.Latency)
	line("through a bare fan-out", r.Bare)
	fmt.Fprintf(w, "relative to the bare fan-out\tp50 %.2f\tp99 %.2f\tp99.9 %.2f\n", r.Latency.P50/r.Bare.P50, r.Latency.P99/r.Bare.P99, r.Latency.P999/r.Bare.P999)
	fmt.Fprintf(w, "delivered\t%d\tlost %d\ttwice %d\n", r.Delivered, r.Lost, r.Twice)
	fmt.Fprintf(w, "memory of the server before the events\t%.1f KiB per stream\n", r.PerStream)
	fmt.Fprintf(w, "CPU of the server\t%.1f µs per delivered event\n", r.ServerCPU)
	return w.Flush()
}
