package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"streamer/internal/auth"
	"streamer/internal/gateway/respond"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metric is a Prometheus metric family: a counter if the name ends in _total,
// otherwise a gauge.
type Metric struct {
	Name    string // of letters, digits and underscores
	Help    string // one line
	Samples []Sample
}

// Sample is one value of a family.
type Sample struct {
	Label, Value string // the only label and its value, both empty for none
	Number       float64
}

// Number returns a family with a single value.
func Number[T int | int64 | uint64 | float64](name, help string, n T) Metric {
	return Metric{name, help, []Sample{{Number: float64(n)}}}
}

type counts struct {
	slow      atomic.Uint64      // disconnected slow clients
	sent      atomic.Uint64      // bytes of event streams
	denied    atomic.Uint64      // requests without valid credentials
	refused   atomic.Uint64      // connections closed and requests reset because of the limit of their address
	throttled atomic.Uint64      // inputs refused or delayed because of the limits of their storer, or refused by a busy worker
	answers   [600]atomic.Uint64 // answers by status
}

func (c *counts) countStatus(status int) {
	if status > 0 && status < len(c.answers) { // 0 if the client disconnected before the answer
		c.answers[status].Add(1)
	}
}

// newRegistry returns a registry of the gateway's own metrics, of those of the process
// and the Go runtime, and of others.
func (g *Gateway) newRegistry() (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	all := append([]prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		families(g.ownMetrics), families(g.otherMetrics),
	}, g.opts.Collectors...)
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("gateway: metrics: %w", err)
		}
	}
	return r, nil
}

// serveMetrics returns the handler that serves the metrics in the text formats of
// Prometheus and OpenMetrics.
func (g *Gateway) serveMetrics(r *prometheus.Registry) handler {
	h := promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true})
	return func(w http.ResponseWriter, r *http.Request) error {
		if id := identity(r); !id.MayAll(auth.Metrics) && !id.MayAll(auth.Watch) {
			return respond.Refuse(http.StatusForbidden, "the token does not permit to read the metrics")
		}
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
		return nil
	}
}

func (g *Gateway) otherMetrics() []Metric {
	if g.opts.Metrics == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.opts.StoreTimeout)
	defer cancel()
	return g.opts.Metrics(ctx)
}

func (g *Gateway) ownMetrics() []Metric {
	answers := Metric{Name: "streamer_http_requests_total", Help: "HTTP requests answered, by status; an event stream counts when it ends."}
	for status := range g.counts.answers {
		if n := g.counts.answers[status].Load(); n > 0 {
			answers.Samples = append(answers.Samples, Sample{"status", strconv.Itoa(status), float64(n)})
		}
	}
	repeated := Metric{Name: "streamer_http_inputs_repeated_total", Help: "Inputs over HTTP that were stored before, of at most 100 clients."}
	for _, c := range g.Usage().Clients {
		repeated.Samples = append(repeated.Samples, Sample{"client", c.Client, float64(c.Repeated)})
	}
	return []Metric{
		answers,
		Number("streamer_sse_clients", "Event streams that are open.", g.streams.count()),
		Number("streamer_sse_sent_bytes_total", "Bytes of event streams that were sent, without TLS and the compression of HTTP/2 headers.", g.counts.sent.Load()),
		Number("streamer_sse_slow_disconnects_total", "Event streams ended because their client did not read.", g.counts.slow.Load()),
		Number("streamer_http_auth_refusals_total", "HTTP requests refused because they had no valid token or cookie.", g.counts.denied.Load()),
		Number("streamer_http_inputs_throttled_total", "Inputs over HTTP that were refused, or waited, because of --http-max-inputs, --http-max-input-bytes or --http-max-sessions, or refused because the worker was far behind.", g.counts.throttled.Load()),
		repeated,
		Number("streamer_http_connections_refused_total", "Connections closed, and HTTP/2 requests reset, because their address had too many.", g.counts.refused.Load()),
	}
}

// families is a prometheus.Collector of the families that a function returns.
type families func() []Metric

// Describe implements prometheus.Collector. It names no metric: which samples a family
// has is known only when they are collected.
func (families) Describe(chan<- *prometheus.Desc) {}

func (f families) Collect(ch chan<- prometheus.Metric) {
	for _, m := range f() {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(m.Name, "_total") {
			kind = prometheus.CounterValue
		}
		for _, s := range m.Samples {
			var labels, values []string
			if s.Label != "" {
				labels, values = []string{s.Label}, []string{s.Value}
			}
			ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.Name, m.Help, labels, nil), kind, s.Number, values...)
		}
	}
}
