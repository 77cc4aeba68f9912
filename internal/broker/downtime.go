package broker

import (
	"context"
	"sync"
	"time"
)

// downtime is the last period in which inputs could not be stored, as far as this
// process knows.
type downtime struct {
	mu          sync.Mutex
	from, until time.Time // until is zero while it lasts
}

// begin records that inputs cannot be stored since t.
func (d *downtime) begin(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.from.IsZero() || !d.until.IsZero() {
		d.from, d.until = t, time.Time{}
	}
}

// end records that inputs can be stored again since t.
func (d *downtime) end(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.from.IsZero() && d.until.IsZero() {
		d.until = t
	}
}

// Outage returns the start and the end of the last period in which inputs could not
// be stored. The end is zero while the period lasts. Both are zero if there was
// none. With the embedded server, the period includes the time since the server was
// stopped.
func (b *Broker) Outage() (from, until time.Time) {
	b.down.mu.Lock()
	defer b.down.mu.Unlock()
	return b.down.from, b.down.until
}

// wasDown begins an outage at the time when the embedded server stored its last
// message: no client could publish since then, and none can before Admit.
func (b *Broker) wasDown(ctx context.Context) error {
	if b.embedded.URL() == "" {
		return nil
	}
	var last time.Time
	for _, name := range streamNames {
		state, err := b.Bounds(ctx, name)
		if err != nil {
			return err
		}
		if state.LastAt.After(last) {
			last = state.LastAt
		}
	}
	if !last.IsZero() && last.Unix() > 0 {
		b.down.begin(last)
	}
	return nil
}
