package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
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

// counts are the gateway's own counters.
type counts struct {
	slow    atomic.Uint64      // disconnected slow clients
	refused atomic.Uint64      // connections closed because of the limit of their address
	answers [600]atomic.Uint64 // answers by status
}

// countStatus counts an answer.
func (c *counts) countStatus(status int) {
	if status > 0 && status < len(c.answers) { // 0 if the client disconnected before the answer
		c.answers[status].Add(1)
	}
}

// metrics serves the metrics in the text format of Prometheus
// (prometheus.io/docs/instrumenting/exposition_formats).
func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) error {
	families := g.ownMetrics()
	if g.opts.Metrics != nil {
		ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
		defer cancel()
		families = append(families, g.opts.Metrics(ctx)...)
	}
	var text []byte
	for _, m := range families {
		text = appendMetric(text, m)
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	// An error means that the client has disconnected.
	_, _ = w.Write(text)
	return nil
}

// ownMetrics returns the gateway's own metrics.
func (g *Gateway) ownMetrics() []Metric {
	answers := Metric{Name: "streamer_http_requests_total", Help: "HTTP requests answered, by status; an event stream counts when it ends."}
	for status := range g.counts.answers {
		if n := g.counts.answers[status].Load(); n > 0 {
			answers.Samples = append(answers.Samples, Sample{"status", strconv.Itoa(status), float64(n)})
		}
	}
	return []Metric{
		answers,
		Number("streamer_sse_clients", "Event streams that are open.", g.streams.count()),
		Number("streamer_sse_slow_disconnects_total", "Event streams ended because their client did not read.", g.counts.slow.Load()),
		Number("streamer_http_connections_refused_total", "Connections closed because their address had too many.", g.counts.refused.Load()),
	}
}

// appendMetric appends a family. It omits a family without samples.
func appendMetric(b []byte, m Metric) []byte {
	if len(m.Samples) == 0 {
		return b
	}
	kind := "gauge"
	if strings.HasSuffix(m.Name, "_total") {
		kind = "counter"
	}
	b = append(b, "# HELP "+m.Name+" "+escapeHelp.Replace(m.Help)+"\n# TYPE "+m.Name+" "+kind+"\n"...)
	for _, s := range m.Samples {
		b = append(b, m.Name...)
		if s.Label != "" {
			b = append(b, "{"+s.Label+"=\""+escapeLabel.Replace(s.Value)+"\"}"...)
		}
		b = append(b, ' ')
		b = strconv.AppendFloat(b, s.Number, 'f', -1, 64)
		b = append(b, '\n')
	}
	return b
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)
