package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Idle is the cost of streams of one session without events.
type Idle struct {
	Streams int `json:"streams"`
	// The memory of the server process, without the kernel's buffers.
	Before     float64 `json:"rss_before_mib"`
	PerStream  float64 `json:"rss_kib_per_stream"`
	AtOnce     float64 `json:"rss_kib_per_stream_at_once"` // directly after the last connection
	CPU        float64 `json:"server_cpu_us_per_stream_and_s"`
	Connecting float64 `json:"streams_opened_per_s"`
	Shares
}

// FanOut is the delivery of events to streams.
type FanOut struct {
	Streams   int     `json:"streams"`
	Rate      float64 `json:"events_per_s"`
	Delivered int     `json:"delivered"`
	Lost      int     `json:"lost"`
	Twice     int     `json:"twice"`
	// Latency is the time from publishing a delta to its event at a client, through
	// both logs and the fold.
	Latency   Quantiles `json:"latency"`
	PerStream float64   `json:"rss_kib_per_stream"`
	// The CPU time of an event at a stream depends less on other load than latency.
	ServerCPU float64 `json:"server_cpu_us_per_delivered"`
	ClientCPU float64 `json:"client_cpu_us_per_delivered"`
	Shares
}

// Replay is the delivery of one history to many clients at once.
type Replay struct {
	Streams int     `json:"streams"`
	Events  int     `json:"events_each"`
	MB      float64 `json:"mb_per_s"`
	Seconds float64 `json:"seconds"`
	Lost    int     `json:"lost"`
	Twice   int     `json:"twice"`
	Shares
}

const (
	openers    = 32              // streams that are opened at once
	replayTime = 5 * time.Minute // maximum duration of the reading of a history
	warmUp     = 100             // streams before a measurement of memory
	// Memory that the runtime has freed returns to the system some time later.
	settleTime = 90 * time.Second
	settleStep = time.Second
	settled    = 8 // steps without less memory
)

const benchSession = "bench-sse"

// openAll opens n streams, of the sessions that name returns, and reads their stored
// events.
func (s *sseServer) openAll(ctx context.Context, n int, name func(i int) string) (all []*client, err error) {
	all = make([]*client, n)
	errs := make([]error, openers)
	var wg sync.WaitGroup
	for o := range openers {
		wg.Go(func() {
			for i := o; i < n && errs[o] == nil; i += openers {
				if all[i], errs[o] = s.open(ctx, name(i), i); errs[o] == nil {
					errs[o] = all[i].readUntilLive()
				}
			}
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

func closeAll(all []*client) {
	for _, c := range all {
		if c != nil {
			c.close()
		}
	}
}

func oneSession(int) string { return benchSession }

// prepare publishes a text of the session, and opens and closes some streams, so that
// the memory that the first streams need is not counted.
func (s *sseServer) prepare(ctx context.Context) (rss uint64, err error) {
	if err := s.text(ctx, benchSession, lastText); err != nil {
		return 0, err
	}
	if _, _, err := s.history(ctx, benchSession); err != nil {
		return 0, err
	}
	all, err := s.openAll(ctx, warmUp, oneSession)
	closeAll(all)
	if err != nil {
		return 0, err
	}
	return s.settle(ctx)
}

// settle waits until the memory of the server does not shrink any more.
func (s *sseServer) settle(ctx context.Context) (least uint64, err error) {
	steady := 0
	for start := time.Now(); steady < settled && time.Since(start) < settleTime; {
		rss, _, err := use(s.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		if steady++; least == 0 || rss < least-least/200 {
			least, steady = rss, 0
		}
		select {
		case <-time.After(settleStep):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return least, nil
}

// idle measures n streams of one session.
func (s *sseServer) idle(ctx context.Context, n int) (*Idle, error) {
	before, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	r := &Idle{Streams: n, Before: float64(before) / (1 << 20)}
	start := time.Now()
	all, err := s.openAll(ctx, n, oneSession)
	defer closeAll(all)
	if err != nil {
		return nil, err
	}
	r.Connecting = float64(n) / time.Since(start).Seconds()
	at, _, err := use(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	m := s.meter()
	after, err := s.settle(ctx)
	if err == nil {
		r.Shares, err = m.shares()
	}
	each := func(rss uint64) float64 { return (float64(rss) - float64(before)) / 1024 / float64(n) }
	r.PerStream, r.AtOnce = each(after), each(at)
	r.CPU = m.server.Seconds() * 1e6 / m.took.Seconds() / float64(n)
	return r, err
}

// viewers measures one session whose events many streams receive.
func (s *sseServer) viewers(ctx context.Context, o *SSEOptions) (*FanOut, error) {
	r := &FanOut{Streams: o.Viewers, Rate: float64(o.Rate)}
	n := int(o.Duration.Seconds() * float64(o.Rate))
	publish := func(int) (session, text string) { return benchSession, strconv.FormatInt(time.Now().UnixNano(), 10) }
	return r, s.fanOut(ctx, r, oneSession, n, publish)
}

// sessionRate is the number of events per second of all sessions with one stream.
const sessionRate = 1000

// sessions measures many sessions with one stream each.
func (s *sseServer) sessions(ctx context.Context, o *SSEOptions) (*FanOut, error) {
	r := &FanOut{Streams: o.Sessions, Rate: sessionRate}
	name := func(i int) string { return "bench-" + strconv.Itoa(i%o.Sessions) }
	n := max(int(o.Duration.Seconds()*sessionRate), 2*o.Sessions) / o.Sessions * o.Sessions
	publish := func(i int) (session, text string) { return name(i), strconv.FormatInt(time.Now().UnixNano(), 10) }
	return r, s.fanOut(ctx, r, name, n, publish)
}

// fanOut opens the streams of r, publishes n texts at its rate, and compares what
// each stream received with the log.
func (s *sseServer) fanOut(ctx context.Context, r *FanOut, name func(int) string, n int, publish func(int) (session, text string)) error {
	before, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	all, err := s.openAll(ctx, r.Streams, name)
	defer closeAll(all)
	if err != nil {
		return err
	}
	after, err := s.settle(ctx)
	if err != nil {
		return err
	}
	r.PerStream = (float64(after) - float64(before)) / 1024 / float64(r.Streams)
	read := s.readAll(all)
	m := s.meter()
	tick := time.NewTicker(time.Duration(float64(time.Second) / r.Rate))
	defer tick.Stop()
	for i := range n {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		session, text := publish(i)
		if err := s.text(ctx, session, text); err != nil {
			return err
		}
	}
	watched := map[string]bool{}
	for _, c := range all {
		if !watched[c.session] {
			watched[c.session] = true
			if err := s.text(ctx, c.session, lastText); err != nil {
				return err
			}
		}
	}
	if err := read(receiveTime); err != nil {
		return err
	}
	if r.Shares, err = m.shares(); err != nil {
		return err
	}
	if err := s.compare(ctx, r, all); err != nil {
		return err
	}
	r.ServerCPU = m.server.Seconds() * 1e6 / float64(r.Delivered)
	r.ClientCPU = m.client.Seconds() * 1e6 / float64(r.Delivered)
	return nil
}

// readAll reads all streams in the background until their last events. wait waits for
// the ends.
func (s *sseServer) readAll(all []*client) (wait func(most time.Duration) error) {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		c.last, c.ages = false, nil
		wg.Go(func() { errs[i] = c.readUntilLast() })
	}
	return func(most time.Duration) error {
		late := time.Now().Add(most)
		for _, c := range all {
			if err := c.conn.SetReadDeadline(late); err != nil {
				return fmt.Errorf("stream of session %s: %w", c.session, err)
			}
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// compare compares what each stream received with the log of its session, and sets
// the latencies.
func (s *sseServer) compare(ctx context.Context, r *FanOut, all []*client) error {
	logs := map[string][]uint64{}
	var ages []time.Duration
	for _, c := range all {
		log, ok := logs[c.session]
		if !ok {
			var err error
			if log, _, err = s.history(ctx, c.session); err != nil {
				return err
			}
			logs[c.session] = log
		}
		r.Lost += c.lost(log)
		r.Twice += c.twice
		r.Delivered += len(c.ids)
		ages = append(ages, c.ages...)
	}
	if len(ages) == 0 {
		return errors.New("no event was received")
	}
	r.Latency = quantiles(ages)
	if r.Lost+r.Twice > 0 {
		return fmt.Errorf("%d events were lost and %d received twice", r.Lost, r.Twice)
	}
	return nil
}

// replayEvents and replayText are the number and the size of the texts of the history
// that is replayed, as in published measurements of other servers.
const (
	replayEvents = 2000
	replayText   = 1000
)

// replay measures n clients that read one history at once.
func (s *sseServer) replay(ctx context.Context, n int) (*Replay, error) {
	s.buffer = 64 << 10
	for range replayEvents {
		if err := s.text(ctx, benchSession, strings.Repeat("x", replayText)); err != nil {
			return nil, err
		}
	}
	if err := s.text(ctx, benchSession, lastText); err != nil {
		return nil, err
	}
	log, size, err := s.history(ctx, benchSession)
	if err != nil {
		return nil, err
	}
	r := &Replay{Streams: n, Events: len(log)}
	all, errs := make([]*client, n), make([]error, n)
	defer func() { closeAll(all) }()
	m := s.meter()
	start := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if all[i], errs[i] = s.open(ctx, benchSession, i); errs[i] == nil {
				errs[i] = all[i].readUntilLive()
			}
		})
	}
	wg.Wait()
	r.Seconds = time.Since(start).Seconds()
	r.MB = float64(size) * float64(n) / r.Seconds / 1e6
	if r.Shares, err = m.shares(); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c != nil {
			r.Lost += c.lost(log)
			r.Twice += c.twice
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if r.Lost+r.Twice > 0 {
		return nil, fmt.Errorf("%d events were lost and %d received twice", r.Lost, r.Twice)
	}
	return r, nil
}

// lost returns the number of events of a log that a stream did not receive.
func (c *client) lost(log []uint64) (n int) {
	if slices.Equal(c.ids, log) {
		return 0
	}
	for _, id := range log {
		if _, ok := slices.BinarySearch(c.ids, id); !ok {
			n++
		}
	}
	return n
}

// meter measures the CPU time of the server and of this process.
type meter struct {
	s              *sseServer
	start          time.Time
	server, client time.Duration // at the start; after shares, the differences
	took           time.Duration
}

func (s *sseServer) meter() *meter {
	_, server, err := use(s.cmd.Process.Pid)
	if err != nil { // shares returns it
		server = 0
	}
	return &meter{s: s, start: time.Now(), server: server, client: cpuTime()}
}

// shares ends the measurement.
func (m *meter) shares() (sh Shares, err error) {
	_, server, err := use(m.s.cmd.Process.Pid)
	m.took, m.server, m.client = time.Since(m.start), server-m.server, cpuTime()-m.client
	return sharesOf(m.took, m.server, m.client), err
}
