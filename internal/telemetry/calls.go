// Package telemetry makes metrics and traces of the events that a worker stores, and sends
// the lines of the log. Figures are only of stored events, so that they and the event log
// agree.
package telemetry

import (
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/worker"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/tidwall/gjson"
)

// DefaultTools is the default maximum number of tools with a label of their own.
const DefaultTools = 50

// otherTools is the label of the tools beyond the maximum. A tool name cannot be
// empty in a stored event, and "" would mean that there is no label.
const otherTools = "(other)"

// Calls are the histograms of calls and of what is stored of them. It implements
// worker.Observer and prometheus.Collector.
type Calls struct {
	args, result, wait, duration *prometheus.HistogramVec
	size                         prometheus.Histogram
	appended, snapshots          prometheus.Histogram

	waiting openCalls[time.Time] // since when open calls wait for a person

	mu    sync.Mutex
	tools map[string]bool // that have their own label
	most  int
}

// NewCalls returns histograms in which at most tools tool names have a label of
// their own, the first ones that are seen. If tools is zero, DefaultTools.
func NewCalls(tools int) *Calls {
	if tools == 0 {
		tools = DefaultTools
	}
	vec := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	one := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	// Tools take from milliseconds to the minutes after which they time out.
	long := []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}
	short := prometheus.ExponentialBuckets(.0005, 2, 14) // to 4 s
	return &Calls{
		args:      vec("streamer_call_args_seconds", "Time from the start of a call to its args being complete, by status of the call.", long, "status"),
		result:    vec("streamer_call_result_seconds", "Time from complete args to the result, by tool and status.", long, "tool", "status"),
		wait:      vec("streamer_call_wait_seconds", "Time for which a call waited for a person, to its result, by status.", []float64{1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600}, "status"),
		duration:  vec("streamer_call_duration_seconds", "Time from the start of a call to its result, by status.", long, "status"),
		size:      one("streamer_call_args_bytes", "Size of complete args.", prometheus.ExponentialBuckets(16, 4, 10)), // to 4 MiB
		appended:  one("streamer_event_append_seconds", "Time from the publish of an event to its acknowledgement.", short),
		snapshots: one("streamer_snapshot_write_seconds", "Time from the publish of a snapshot to its acknowledgement.", short),
		tools:     map[string]bool{},
		most:      tools,
	}
}

// Describe implements prometheus.Collector.
func (c *Calls) Describe(ch chan<- *prometheus.Desc) {
	for _, h := range c.all() {
		h.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (c *Calls) Collect(ch chan<- prometheus.Metric) {
	for _, h := range c.all() {
		h.Collect(ch)
	}
}

func (c *Calls) all() []prometheus.Collector {
	return []prometheus.Collector{c.args, c.result, c.wait, c.duration, c.size, c.appended, c.snapshots}
}

// SnapshotStored implements worker.Observer.
func (c *Calls) SnapshotStored(took time.Duration) { c.snapshots.Observe(took.Seconds()) }

// PartitionLeft implements worker.Observer.
func (c *Calls) PartitionLeft(partition int) { c.waiting.forget(partition) }

// EventStored implements worker.Observer.
func (c *Calls) EventStored(e worker.Stored) {
	c.appended.Observe(e.Took.Seconds())
	switch e.Type {
	case events.ToolCallArgsComplete:
		c.size.Observe(argsSize(e.Body))
	case events.ToolCallAwaiting:
		c.waiting.update(&e, func(_ time.Time, known bool) (time.Time, bool) {
			return gjson.GetBytes(e.Body, "timestamp").Time(), !known
		})
	case events.ToolCallResult:
		c.ended(&e)
	case events.SessionErased:
		c.waiting.forgetSession(&e)
	}
}

func (c *Calls) ended(e *worker.Stored) {
	status := string(e.Status)
	f := gjson.GetManyBytes(e.Body, "tool_name", "args_ms", "run_ms", "duration_ms", "timestamp")
	observe := func(h *prometheus.HistogramVec, ms gjson.Result, labels ...string) {
		if ms.Exists() {
			observeTraced(h.WithLabelValues(labels...), ms.Float()/1000, e.Trace)
		}
	}
	observe(c.args, f[1], status)
	observe(c.result, f[2], c.tool(f[0].String()), status)
	observe(c.duration, f[3], status)
	if since := c.waiting.take(e); !since.IsZero() {
		observeTraced(c.wait.WithLabelValues(status), f[4].Time().Sub(since).Seconds(), e.Trace)
	}
}

// observeTraced observes a value, with the id of its trace as an exemplar if it has
// one.
func observeTraced(h prometheus.Observer, v float64, trace map[string]string) {
	if span := remoteSpan(trace[inputs.HeaderTraceParent], ""); span.IsValid() {
		h.(prometheus.ExemplarObserver).ObserveWithExemplar(v, prometheus.Labels{"trace_id": span.TraceID().String()})
		return
	}
	h.Observe(v)
}

func (c *Calls) tool(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tools) < c.most {
		c.tools[name] = true
	}
	if !c.tools[name] {
		return otherTools
	}
	return name
}

func argsSize(body []byte) float64 {
	f := gjson.GetManyBytes(body, "args_text", "args_ref.size")
	if f[1].Exists() {
		return f[1].Float()
	}
	return float64(len(f[0].String()))
}
