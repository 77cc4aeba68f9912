package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"
)

// Instances compares several processes that share the fold of a log with a single
// process: the rate, and the CPU of the processes and the server.
type Instances struct {
	Number  int     `json:"number"`
	One     float64 `json:"one_inputs_per_s"`
	Many    float64 `json:"many_inputs_per_s"`
	OneCPU  float64 `json:"one_cpu_us_per_input"`
	ManyCPU float64 `json:"many_cpu_us_per_input"`
}

// instances measures one process of `streamer serve` and several that share the
// partitions, in turns.
func (r *rig) instances(ctx context.Context) (i Instances, err error) {
	i.Number = r.options.Instances
	if i.Number < 2 {
		return i, nil
	}
	var rounds [][2]Throughput
	for round := range r.options.Rounds {
		var of [2]Throughput // one, many
		for turn := range of {
			which := (round + turn) % 2 // the order alternates
			if of[which], err = r.shared(ctx, [2]int{1, i.Number}[which]); err != nil {
				return i, err
			}
		}
		rounds = append(rounds, of)
	}
	i.One = median(rounds, func(r [2]Throughput) float64 { return r[0].Inputs })
	i.Many = median(rounds, func(r [2]Throughput) float64 { return r[1].Inputs })
	i.OneCPU = median(rounds, func(r [2]Throughput) float64 { return r[0].CPU })
	i.ManyCPU = median(rounds, func(r [2]Throughput) float64 { return r[1].CPU })
	return i, nil
}

// shared stores inputs while no worker runs, and measures n processes from their
// first event until the last result. The CPU includes their start and end.
func (r *rig) shared(ctx context.Context, n int) (t Throughput, err error) {
	prefix := r.prefix()
	p := r.options.plan(r.options.Sessions)
	seqs, err := r.fill(ctx, prefix, p)
	if err != nil {
		return t, err
	}
	inputs, calls := len(seqs), p.calls*p.sessions
	count, unsubscribe, err := r.seen(prefix, "tool_call_result")
	if err != nil {
		return t, err
	}
	defer unsubscribe()
	began, unsubscribe2, err := r.seen(prefix, "run_started")
	if err != nil {
		return t, err
	}
	defer unsubscribe2()
	server := cpuTime()
	all, err := r.start(n)
	defer all.stop()
	if err != nil {
		return t, err
	}
	if err := until(ctx, func() bool { return began.Load() > 0 || all.err() != nil }, all.err); err != nil {
		return t, err
	}
	start := time.Now()
	if err := until(ctx, func() bool { return count.Load() >= int64(calls) || all.err() != nil }, all.err); err != nil {
		return t, err
	}
	t.Inputs = float64(inputs) / time.Since(start).Seconds()
	if err := all.err(); err != nil {
		return t, err
	}
	cpu := all.stop()
	cpu += cpuTime() - server
	t.CPU = float64(cpu.Microseconds()) / float64(inputs)
	return t, nil
}

// processes are processes of `streamer serve`.
type processes struct {
	all    []process
	failed atomic.Pointer[error] // why the first of them ended
}

// process is one of them.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed when it has ended
}

var errNone = errors.New("without an error")

// start starts n processes. After an error the result has those that were
// started before it.
func (r *rig) start(n int) (*processes, error) {
	c := new(processes)
	for range n {
		p, err := r.startOne(&c.failed)
		if err != nil {
			return c, err
		}
		c.all = append(c.all, p)
	}
	return c, nil
}

// err returns why one of the processes ended, nil if all run.
func (c *processes) err() error {
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// stop stops all processes at once, so that none takes over partitions of
// another, and returns the CPU time they used.
func (c *processes) stop() (cpu time.Duration) {
	for _, p := range c.all {
		_ = p.Process.Signal(os.Interrupt) // it may have ended
	}
	late := time.After(stopTime)
	for _, p := range c.all {
		select {
		case <-p.ended:
		case <-late:
			late = time.After(0) // do not wait for the others either
			_ = p.Process.Kill()
			<-p.ended
		}
		cpu += p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	}
	c.all = nil
	return cpu
}

// stopTime bounds how long processes take to write snapshots and end.
const stopTime = 15 * time.Second

// startOne runs the program as `streamer serve`. It stores the reason of its end
// in failed.
func (r *rig) startOne(failed *atomic.Pointer[error]) (p process, err error) {
	o := &r.options.Broker
	p = process{ended: make(chan struct{}), Cmd: exec.Command(r.options.Program, "serve", "--nats-url", r.url, "--nats-creds", o.Creds,
		"--nats-tls-ca", o.TLSCA, "--nats-tls-cert", o.TLSCert, "--nats-tls-key", o.TLSKey,
		"--partitions", strconv.Itoa(r.broker.Partitions()), "--http-listen", "127.0.0.1:0", "--deltas", "off", "--log-level", "error")}
	var log bytes.Buffer
	p.Stderr = &log
	if err := p.Start(); err != nil {
		return p, fmt.Errorf("starting %s: %w", r.options.Program, err)
	}
	go func() {
		defer close(p.ended)
		err := fmt.Errorf("an instance ended: %w: %s", cmp.Or(p.Wait(), errNone), log.String())
		failed.CompareAndSwap(nil, &err)
	}()
	return p, nil
}
