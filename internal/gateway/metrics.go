package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// Metric is a family of numbers with one name, as Prometheus knows them: a
// counter where the name ends in _total, else a gauge.
type Metric struct {
	Name    string // of letters, digits and underscores
	Help    string // one line
	Samples []Sample
}

// Sample is one number of a family.
type Sample struct {
	Label, Value string // of the one label there may be; both empty if none
	Number       float64
}

// Number gives a family of a single number.
func Number[T int | int64 | uint64 | float64](name, help string, n T) Metric {
	return Metric{name, help, []Sample{{Number: float64(n)}}}
}

// counts are what the gateway counts itself.
type counts struct {
	slow    atomic.Uint64      // clients that did not read
	answers [600]atomic.Uint64 // by status
}

func (c *counts) countStatus(status int) {
	if status > 0 && status < len(c.answers) { // 0: the client left before
		c.answers[status].Add(1)
	}
}

// metrics tells what there is to measure, in the text format of Prometheus
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
	// An error here means that the client is gone.
	_, _ = w.Write(text)
	return nil
}

// measure gives the gateway's own numbers.
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
	}
}

// appendMetric writes a family; one without samples is left out.
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
