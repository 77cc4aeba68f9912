package bench

import (
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/worker"
)

// OpenCost is the cost of sessions with an open call.
type OpenCost struct {
	Sessions int     `json:"sessions"`
	Rate     float64 `json:"opened_per_s"`
	OpenCPU  float64 `json:"opening_cpu_ms"`
	Bytes    float64 `json:"bytes_per_session"`
	RSS      float64 `json:"process_bytes"` // resident memory of the whole process, 0 where it is not known
	Recovery float64 `json:"recovery_ms"`
	CPU      float64 `json:"recovery_cpu_ms"`
	First    float64 `json:"first_recovery_ms"`
	Listed   uint64  `json:"recovery_snapshots_listed"`
	Reread   uint64  `json:"recovery_inputs_read"`
}

// openSessions opens a call in each of many sessions. It measures the memory of
// the worker, and the time that a new worker needs to take them over.
func (r *rig) openSessions(ctx context.Context) (c OpenCost, err error) {
	c.Sessions = r.options.Open
	prefix := r.prefix()
	f := r.newFiller()
	for s := range c.Sessions {
		token := prefix + strconv.Itoa(s)
		_, body := callInput(token, 0, 0, MinPerCall)
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
	cpu, start := cpuTime(), time.Now()
	if err := w.until(ctx, func() bool { return count.Load() >= int64(c.Sessions) }); err != nil {
		return c, err
	}
	c.Rate = float64(c.Sessions) / time.Since(start).Seconds()
	c.OpenCPU = float64((cpuTime() - cpu).Microseconds()) / 1000
	if err := w.until(ctx, func() bool { return w.Stats().Snapshots >= uint64(c.Sessions) }); err != nil {
		return c, err
	}
	with := heap()
	debug.FreeOSMemory()
	c.RSS = rss()
	w.stop()
	w.Worker = nil
	c.Bytes = max(0, float64(with)-float64(heap())) / float64(c.Sessions)
	var rounds []OpenCost
	for range r.options.Rounds {
		if err := r.takeOver(ctx, &c); err != nil {
			return c, err
		}
		rounds = append(rounds, c)
	}
	c.First = rounds[0].Recovery
	c.Recovery = median(rounds, func(c OpenCost) float64 { return c.Recovery })
	c.CPU = median(rounds, func(c OpenCost) float64 { return c.CPU })
	return c, nil
}

// takeOver measures the time until a new worker has read the log to its end and
// has loaded the sessions with open calls, whose timers are then set. The first new
// worker after a burst also appends events that a snapshot has and the log lacks.
func (r *rig) takeOver(ctx context.Context, c *OpenCost) error {
	_, last, err := r.broker.InputBounds(ctx)
	if err != nil {
		return err
	}
	js, err := r.jetStream()
	if err != nil {
		return err
	}
	snapshots, err := js.Stream(ctx, "KV_STREAMER_SNAPSHOT")
	if err != nil {
		return err
	}
	c.Listed = snapshots.CachedInfo().State.Msgs
	cpu, start := cpuTime(), time.Now()
	w := r.work(ctx, worker.Options{SnapshotEvery: 20 * time.Millisecond}) // how often it counts open calls
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
