package main

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

	"streamer/internal/bench"
	"streamer/internal/events"
)

// instances compares several processes that share the fold of a log with a single
// process: the rate, and the CPU of the processes and the server.
type instances struct {
	Number  int     `json:"number"`
	One     float64 `json:"one_inputs_per_s"`
	Many    float64 `json:"many_inputs_per_s"`
	OneCPU  float64 `json:"one_cpu_us_per_input"`
	ManyCPU float64 `json:"many_cpu_us_per_input"`
}

// instances measures one process of `streamer serve` and several that share the
// partitions, in turns.
func (r *rig) instances(ctx context.Context) (i instances, err error) {
	i.Number = r.options.Instances
	var rounds [][2]bench.Throughput
	for round := range r.options.Rounds {
		var of [2]bench.Throughput // one, many
		for turn := range of {
			which := (round + turn) % 2 // the order alternates
			if of[which], err = r.shared(ctx, [2]int{1, i.Number}[which]); err != nil {
				return i, err
			}
		}
		rounds = append(rounds, of)
	}
	i.One = bench.Median(rounds, func(r [2]bench.Throughput) float64 { return r[0].Inputs })
	i.Many = bench.Median(rounds, func(r [2]bench.Throughput) float64 { return r[1].Inputs })
	i.OneCPU = bench.Median(rounds, func(r [2]bench.Throughput) float64 { return r[0].CPU })
	i.ManyCPU = bench.Median(rounds, func(r [2]bench.Throughput) float64 { return r[1].CPU })
	return i, nil
}

// shared stores inputs while no worker runs, and measures n processes from their
// first event until the last result. The CPU includes their start and end.
func (r *rig) shared(ctx context.Context, n int) (t bench.Throughput, err error) {
	prefix := r.Prefix()
	p := r.options.plan(r.options.Sessions)
	seqs, err := r.Fill(ctx, prefix, p)
	if err != nil {
		return t, err
	}
	inputs, calls := len(seqs), p.Inputs/p.PerCall*p.Sessions
	count, unsubscribe, err := r.Count(prefix, events.ToolCallResult)
	if err != nil {
		return t, err
	}
	defer unsubscribe()
	began, unsubscribe2, err := r.Count(prefix, events.RunStarted)
	if err != nil {
		return t, err
	}
	defer unsubscribe2()
	server := bench.CPUTime()
	all, err := r.start(n)
	defer all.stop()
	if err != nil {
		return t, err
	}
	if err := bench.Until(ctx, func() bool { return began.Load() > 0 || all.err() != nil }, all.err); err != nil {
		return t, err
	}
	start := time.Now()
	if err := bench.Until(ctx, func() bool { return count.Load() >= int64(calls) || all.err() != nil }, all.err); err != nil {
		return t, err
	}
	t.Inputs = float64(inputs) / time.Since(start).Seconds()
	if err := all.err(); err != nil {
		return t, err
	}
	cpu := all.stop()
	cpu += bench.CPUTime() - server
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
	o := &r.Options
	p = process{ended: make(chan struct{}), Cmd: exec.Command(r.options.program, "serve", "--nats-url", o.URL, "--nats-creds", o.Creds,
		"--nats-tls-ca", o.TLSCA, "--nats-tls-cert", o.TLSCert, "--nats-tls-key", o.TLSKey,
		"--partitions", strconv.Itoa(r.Broker.Partitions()), "--http-listen", "127.0.0.1:0", "--deltas", "off", "--log-level", "error")}
	var log bytes.Buffer
	p.Stderr = &log
	if err := p.Start(); err != nil {
		return p, fmt.Errorf("starting %s: %w", r.options.program, err)
	}
	go func() {
		defer close(p.ended)
		err := fmt.Errorf("an instance ended: %w: %s", cmp.Or(p.Wait(), errNone), log.String())
		failed.CompareAndSwap(nil, &err)
	}()
	return p, nil
}
