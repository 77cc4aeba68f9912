package bench

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"streamer/internal/events"
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
	Reread   uint64  `json:"recovery_inputs_read"`
}

// openSessions opens a call in each of n sessions. It measures the memory of the
// worker, and the time that a new worker needs to take them over.
func (r *Rig) openSessions(ctx context.Context, n, rounds int) (c OpenCost, err error) {
	c.Sessions = n
	prefix := r.Prefix()
	if _, err := r.Fill(ctx, prefix, openCalls(n)); err != nil {
		return c, err
	}
	count, unsubscribe, err := r.Count(prefix, events.ToolCallStart)
	if err != nil {
		return c, err
	}
	defer unsubscribe()
	w := r.Work(ctx, worker.Options{EvictAfter: time.Hour})
	defer w.Stop()
	if err := w.Until(ctx, func() bool { return w.Stats().Folded > 0 }); err != nil {
		return c, err
	}
	cpu, start := CPUTime(), time.Now()
	if err := w.Until(ctx, func() bool { return count.Load() >= int64(n) }); err != nil {
		return c, err
	}
	c.Rate, c.OpenCPU = float64(n)/time.Since(start).Seconds(), milliseconds(CPUTime()-cpu)
	if err := w.Until(ctx, func() bool { return w.Stats().Snapshots >= uint64(n) }); err != nil {
		return c, err
	}
	with := heap()
	debug.FreeOSMemory()
	c.RSS = RSS()
	w.Stop()
	w.Worker = nil
	c.Bytes = max(0, float64(with)-float64(heap())) / float64(n)
	var all []OpenCost
	for range rounds {
		if err := r.takeOver(ctx, &c); err != nil {
			return c, err
		}
		all = append(all, c)
	}
	c.First = all[0].Recovery
	c.Recovery = Median(all, func(c OpenCost) float64 { return c.Recovery })
	c.CPU = Median(all, func(c OpenCost) float64 { return c.CPU })
	return c, nil
}

// takeOver measures the time until a new worker has read the log to its end and
// has loaded the sessions with open calls, whose timers are then set. The first new
// worker after a burst also appends events that a snapshot has and the log lacks.
func (r *Rig) takeOver(ctx context.Context, c *OpenCost) error {
	_, last, err := r.Broker.InputBounds(ctx)
	if err != nil {
		return err
	}
	cpu, start := CPUTime(), time.Now()
	w := r.Work(ctx, worker.Options{SnapshotEvery: 20 * time.Millisecond}) // how often it counts open calls
	defer w.Stop()
	err = w.Until(ctx, func() bool {
		s := w.Stats()
		return s.Open >= c.Sessions && len(s.Carried) >= r.Broker.Partitions() &&
			!slices.ContainsFunc(s.Carried, func(p worker.Carried) bool { return p.Next <= last })
	})
	c.Recovery, c.CPU = milliseconds(time.Since(start)), milliseconds(CPUTime()-cpu)
	c.Reread = w.Stats().Folded
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
