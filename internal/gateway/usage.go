package gateway

import (
	"cmp"
	"slices"
	"strings"
)

const (
	maxLabels    = 100 // clients that have a label of their own in metrics
	maxUsages    = 100
	otherClients = "others"
)

// Usage is the limits of each client that stores inputs at a process, and the clients that
// were refused, are near a limit, or repeat inputs.
type Usage struct {
	Inputs   int           `json:"inputs_per_second,omitempty"` // 0 is no limit
	Bytes    int           `json:"bytes_per_second,omitempty"`
	Sessions int           `json:"open_sessions,omitempty"`
	Clients  []ClientUsage `json:"clients,omitempty"` // those that were refused most often first
}

// ClientUsage is what a client stored since the process remembers it.
type ClientUsage struct {
	Client   string `json:"client"`
	Open     int    `json:"open_sessions,omitempty"`
	Stored   uint64 `json:"inputs"`
	Repeated uint64 `json:"repeated,omitempty"` // of these, that were stored before
	Refused  uint64 `json:"refused,omitempty"`  // or had to wait
}

// Near reports whether a client has nine of ten open sessions that it may have.
func (u *Usage) Near(c *ClientUsage) bool { return u.Sessions > 0 && c.Open*10 >= u.Sessions*9 }

// Usage returns the use of this gateway.
func (g *Gateway) Usage() Usage {
	u := Usage{Inputs: g.opts.MaxInputRate, Bytes: g.opts.MaxByteRate, Sessions: g.opts.MaxOpen}
	g.rates.mu.Lock()
	defer g.rates.mu.Unlock()
	for holder, a := range g.rates.of {
		c := ClientUsage{clientLabel(holder), a.count(), a.stored.Load(), a.repeated.Load(), a.refused.Load()}
		if c.Refused > 0 || c.Repeated > 0 || u.Near(&c) {
			u.Clients = append(u.Clients, c)
		}
	}
	slices.SortFunc(u.Clients, func(a, b ClientUsage) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Open, a.Open), cmp.Compare(b.Repeated, a.Repeated), cmp.Compare(a.Client, b.Client))
	})
	u.Clients = u.Clients[:min(len(u.Clients), maxUsages)]
	return u
}

// clientLabel returns a holder as people and metrics read it.
func clientLabel(holder string) string {
	return strings.ToValidUTF8(shortened(strings.ReplaceAll(holder, "\n", " ")), "")
}

// count counts an input of a holder that was stored now or before.
func (q *rates) count(holder string, repeated bool) {
	if holder == "" {
		return
	}
	a := q.allowance(holder)
	a.stored.Add(1)
	if repeated {
		a.repeated.Add(1)
	}
}

func (q *rates) repeatedMetric() Metric {
	m := Metric{Name: "streamer_http_inputs_repeated_total", Help: "Inputs over HTTP that were stored before, by client: the first 100, and others."}
	q.mu.Lock()
	defer q.mu.Unlock()
	of := map[string]uint64{}
	for _, a := range q.of {
		if n := a.repeated.Load(); n > 0 {
			of[a.label] += n
		}
	}
	for label, n := range of {
		m.Samples = append(m.Samples, Sample{"client", label, float64(n)})
	}
	return m
}
