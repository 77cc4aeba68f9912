package gateway

import (
	"cmp"
	"slices"
)

const maxUsages = 100

// Usage is the limits of each client that stores inputs at a process, 0 for none, and the
// clients that were refused, are near a limit, or repeat inputs.
type Usage struct {
	Inputs   int           `json:"inputs_per_second"`
	Bytes    int           `json:"bytes_per_second"`
	Sessions int           `json:"open_sessions"`
	Clients  []ClientUsage `json:"clients"` // at most 100, those that were refused most often first
}

// ClientUsage is what a client stored since the process remembers it.
type ClientUsage struct {
	Client   string `json:"client"` // the name of its tokens, or its address
	Open     int    `json:"open_sessions"`
	Near     bool   `json:"near"` // it has nine of ten open sessions that it may have
	Inputs   uint64 `json:"inputs"`
	Repeated uint64 `json:"repeated"` // of these, that were stored before
	Refused  uint64 `json:"refused"`  // or had to wait
}

// Usage returns the use of this gateway.
func (g *Gateway) Usage() Usage {
	u := Usage{Inputs: g.opts.MaxInputRate, Bytes: g.opts.MaxByteRate, Sessions: g.opts.MaxOpen}
	g.rates.mu.Lock()
	defer g.rates.mu.Unlock()
	for holder, a := range g.rates.of {
		a.mu.Lock()
		open := len(a.last)
		a.mu.Unlock()
		c := ClientUsage{holder, open, u.Sessions > 0 && open*10 >= u.Sessions*9, a.stored.Load(), a.repeated.Load(), a.refused.Load()}
		if c.Refused+c.Repeated > 0 || c.Near {
			u.Clients = append(u.Clients, c)
		}
	}
	slices.SortFunc(u.Clients, func(a, b ClientUsage) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Repeated, a.Repeated), cmp.Compare(b.Open, a.Open))
	})
	u.Clients = u.Clients[:min(len(u.Clients), maxUsages)]
	return u
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
