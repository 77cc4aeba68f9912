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
)

// instances is how fast several processes work a log off together, and one, and
// the CPU they and the server take for it.
type instances struct {
	Number  int     `json:"number"`
	One     float64 `json:"one_inputs_per_s"`
	Many    float64 `json:"many_inputs_per_s"`
	OneCPU  float64 `json:"one_cpu_us_per_input"`
	ManyCPU float64 `json:"many_cpu_us_per_input"`
}

// instances compares processes of `streamer serve` that share the partitions
// with one, by turns.
func (r *rig) instances(ctx context.Context) (i instances, err error) {
	i.Number = r.flags.instances
	if i.Number < 2 {
		return i, nil
	}
	var rounds [][2]throughput
	for round := range r.flags.rounds {
		var of [2]throughput // one, many
		for turn := range of {
			which := (round + turn) % 2 // who comes first, by turns
			if of[which], err = r.shared(ctx, [2]int{1, i.Number}[which]); err != nil {
				return i, err
			}
		}
		rounds = append(rounds, of)
	}
	i.One = median(rounds, func(r [2]throughput) float64 { return r[0].Inputs })
	i.Many = median(rounds, func(r [2]throughput) float64 { return r[1].Inputs })
	i.OneCPU = median(rounds, func(r [2]throughput) float64 { return r[0].CPU })
	i.ManyCPU = median(rounds, func(r [2]throughput) float64 { return r[1].CPU })
	return i, nil
}

// shared stores inputs while nobody works, and measures from the first event
// that n processes store until the end of every call. CPU is also that of their
// start and end.
func (r *rig) shared(ctx context.Context, n int) (t throughput, err error) {
	prefix := r.prefix()
	inputs, calls, err := r.fill(ctx, prefix, r.flags.sessions)
	if err != nil {
		return t, err
	}
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
	all, err := r.crew(n)
	defer all.end()
	if err != nil {
		return t, err
	}
	if err := until(ctx, func() bool { return began.Load() > 0 || all.why() != nil }, all.why); err != nil {
		return t, err
	}
	start := time.Now()
	if err := until(ctx, func() bool { return count.Load() >= int64(calls) || all.why() != nil }, all.why); err != nil {
		return t, err
	}
	t.Inputs = float64(inputs) / time.Since(start).Seconds()
	if err := all.why(); err != nil {
		return t, err
	}
	cpu := all.end()
	cpu += cpuTime() - server
	t.CPU = float64(cpu.Microseconds()) / float64(inputs)
	return t, nil
}

// crew is some processes of `streamer serve`.
type crew struct {
	all  []hand
	dead atomic.Pointer[error] // what ended one of them
}

// hand is one of them.
type hand struct {
	*exec.Cmd
	ended chan struct{}
}

var errByItself = errors.New("without an error")

// crew starts n processes; those that are started before an error are in it.
func (r *rig) crew(n int) (*crew, error) {
	c := new(crew)
	for range n {
		p, err := r.instance(&c.dead)
		if err != nil {
			return c, err
		}
		c.all = append(c.all, p)
	}
	return c, nil
}

func (c *crew) why() error {
	if err := c.dead.Load(); err != nil {
		return *err
	}
	return nil
}

// end stops them together, so that none takes over what another leaves, and
// tells the CPU they took.
func (c *crew) end() (cpu time.Duration) {
	for _, p := range c.all {
		_ = p.Process.Signal(os.Interrupt) // it may have ended
	}
	settled := time.After(settleInstance)
	for _, p := range c.all {
		select {
		case <-p.ended:
		case <-settled:
			settled = time.After(0) // nor are the others waited for
			_ = p.Process.Kill()
			<-p.ended
		}
		cpu += p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	}
	c.all = nil
	return cpu
}

// settleInstance is how long instances may take to save and leave.
const settleInstance = 15 * time.Second

// instance runs this program as `streamer serve`. What ends it is put into
// dead.
func (r *rig) instance(dead *atomic.Pointer[error]) (p hand, err error) {
	self, err := os.Executable()
	if err != nil {
		return p, fmt.Errorf("this program: %w", err)
	}
	f := &r.flags.nats
	p = hand{ended: make(chan struct{}), Cmd: exec.Command(self, "serve", "--nats-url", r.url, "--nats-creds", f.creds,
		"--nats-tls-ca", f.ca, "--nats-tls-cert", f.cert, "--nats-tls-key", f.key,
		"--partitions", strconv.Itoa(r.broker.Partitions()), "--http-listen", "127.0.0.1:0", "--deltas", "off", "--log-level", "error")}
	var said bytes.Buffer
	p.Stderr = &said
	if err := p.Start(); err != nil {
		return p, fmt.Errorf("starting %s: %w", self, err)
	}
	go func() {
		defer close(p.ended)
		err := fmt.Errorf("an instance ended: %w: %s", cmp.Or(p.Wait(), errByItself), said.String())
		dead.CompareAndSwap(nil, &err)
	}()
	return p, nil
}
