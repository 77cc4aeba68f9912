package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"
)

// instances is how fast several processes work a log off together, and one.
type instances struct {
	Number int     `json:"number"`
	One    float64 `json:"one_inputs_per_s"`
	Many   float64 `json:"many_inputs_per_s"`
}

// instances compares processes of `streamer serve` that share the partitions
// with one, by turns.
func (r *rig) instances(ctx context.Context) (i instances, err error) {
	i.Number = r.flags.instances
	if i.Number < 2 {
		return i, nil
	}
	var rounds [][2]float64
	for range r.flags.rounds {
		one, err := r.shared(ctx, 1)
		if err != nil {
			return i, err
		}
		many, err := r.shared(ctx, i.Number)
		if err != nil {
			return i, err
		}
		rounds = append(rounds, [2]float64{one, many})
	}
	i.One = median(rounds, func(r [2]float64) float64 { return r[0] })
	i.Many = median(rounds, func(r [2]float64) float64 { return r[1] })
	return i, nil
}

// shared stores inputs while nobody works, and measures from the first event
// that n processes store until the end of every call.
func (r *rig) shared(ctx context.Context, n int) (rate float64, err error) {
	prefix := r.prefix()
	inputs, calls, err := r.fill(ctx, prefix, r.flags.sessions)
	if err != nil {
		return 0, err
	}
	count, unsubscribe, err := r.seen(prefix, "tool_call_result")
	if err != nil {
		return 0, err
	}
	defer unsubscribe()
	began, unsubscribe2, err := r.seen(prefix, "run_started")
	if err != nil {
		return 0, err
	}
	defer unsubscribe2()
	var dead atomic.Pointer[error]
	for range n {
		stop, err := r.instance(&dead)
		if err != nil {
			return 0, err
		}
		defer stop()
	}
	why := func() error {
		if err := dead.Load(); err != nil {
			return *err
		}
		return nil
	}
	if err := until(ctx, func() bool { return began.Load() > 0 || dead.Load() != nil }, why); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := until(ctx, func() bool { return count.Load() >= int64(calls) || dead.Load() != nil }, why); err != nil {
		return 0, err
	}
	return float64(inputs) / time.Since(start).Seconds(), why()
}

// instance runs this program as `streamer serve`. What ends it before stop is
// put into dead.
func (r *rig) instance(dead *atomic.Pointer[error]) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	f := &r.flags.nats
	cmd := exec.Command(self, "serve", "--nats-url", r.url, "--nats-creds", f.creds,
		"--nats-tls-ca", f.ca, "--nats-tls-cert", f.cert, "--nats-tls-key", f.key,
		"--partitions", strconv.Itoa(r.broker.Partitions()), "--http-listen", "127.0.0.1:0", "--deltas", "off", "--log-level", "error")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", self, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := fmt.Errorf("an instance ended: %w: %s", cmd.Wait(), said.String())
		dead.CompareAndSwap(nil, &err)
	}()
	return func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-ended:
		case <-time.After(settleInstance):
			_ = cmd.Process.Kill()
			<-ended
		}
	}, nil
}

// settleInstance is how long an instance may take to save and leave.
const settleInstance = 15 * time.Second
