package main

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/worker"
)

// openCost is what sessions with an open call cost.
type openCost struct {
	Sessions int     `json:"sessions"`
	Rate     float64 `json:"opened_per_s"`
	Bytes    float64 `json:"bytes_per_session"`
	Recovery float64 `json:"recovery_ms"`
	CPU      float64 `json:"recovery_cpu_ms"`
	First    float64 `json:"first_recovery_ms"`
	Listed   uint64  `json:"recovery_states_listed"`
	Reread   uint64  `json:"recovery_inputs_read"`
}

// openSessions opens a call in each of many sessions, measures what the worker
// holds, and how long another takes to go on from there.
func (r *rig) openSessions(ctx context.Context) (c openCost, err error) {
	c.Sessions = r.flags.waiting
	prefix := r.prefix()
	f := r.filling()
	for s := range c.Sessions {
		token := prefix + strconv.Itoa(s)
		_, body := callInput(token, 0, 0, fewestInputs)
		if err := f.input(ctx, token, inputs.Delta, body); err != nil {
			return c, err
		}
	}
	if err := f.flush(ctx); err != nil {
		return c, err
	}
	count, unsubscribe, err := r.seen(prefix, "tool_call_start")
	if err != nil {
		return c, err
	}
	defer unsubscribe()
	w := r.work(ctx, worker.Options{EvictAfter: time.Hour})
	defer func() { w.stop() }()
	if err := w.until(ctx, func() bool { return w.Stats().Folded > 0 }); err != nil {
		return c, err
	}
	start := time.Now()
	if err := w.until(ctx, func() bool { return count.Load() >= int64(c.Sessions) }); err != nil {
		return c, err
	}
	c.Rate = float64(c.Sessions) / time.Since(start).Seconds()
	if err := w.until(ctx, func() bool { return w.Stats().Saves >= uint64(c.Sessions) }); err != nil {
		return c, err
	}
	with := heap()
	w.stop()
	w.Worker = nil
	c.Bytes = max(0, float64(with)-float64(heap())) / float64(c.Sessions)
	var rounds []openCost
	for range r.flags.rounds {
		if err := r.recover(ctx, &c); err != nil {
			return c, err
		}
		rounds = append(rounds, c)
	}
	c.First = rounds[0].Recovery
	c.Recovery = median(rounds, func(c openCost) float64 { return c.Recovery })
	c.CPU = median(rounds, func(c openCost) float64 { return c.CPU })
	return c, nil
}

// recover measures how long a new worker takes until it has read everything
// and knows the open calls, whose alarms are then set. The first after a burst
// also sends what was saved before it was stored.
func (r *rig) recover(ctx context.Context, c *openCost) error {
	_, last, err := r.broker.InputBounds(ctx)
	if err != nil {
		return err
	}
	js, err := r.jetStream()
	if err != nil {
		return err
	}
	states, err := js.Stream(ctx, "KV_STREAMER_STATE")
	if err != nil {
		return err
	}
	c.Listed = states.CachedInfo().State.Msgs
	cpu, start := cpuTime(), time.Now()
	w := r.work(ctx, worker.Options{SaveEvery: 20 * time.Millisecond}) // the pace at which it counts open calls
	defer w.stop()
	err = w.until(ctx, func() bool {
		s := w.Stats()
		if s.Open < c.Sessions || len(s.Carried) < r.broker.Partitions() {
			return false
		}
		for _, c := range s.Carried {
			if c.Next <= last {
				return false
			}
		}
		return true
	})
	c.Recovery = float64(time.Since(start).Microseconds()) / 1000
	c.CPU = float64((cpuTime() - cpu).Microseconds()) / 1000
	c.Reread = w.Stats().Folded
	return err
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
