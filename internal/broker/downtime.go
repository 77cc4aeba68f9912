package broker

import (
	"context"
	"sync"
	"time"
)

// downtime is the last time during which inputs could not be stored, as far as
// this process knows.
type downtime struct {
	mu          sync.Mutex
	from, until time.Time // until is zero while it lasts
}

// begin notes that inputs cannot be stored since t.
func (d *downtime) begin(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.from.IsZero() || !d.until.IsZero() {
		d.from, d.until = t, time.Time{}
	}
}

// end notes that inputs can be stored again since t.
func (d *downtime) end(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.from.IsZero() && d.until.IsZero() {
		d.until = t
	}
}

// Outage returns the last time during which inputs could not be stored: since
// when, and until when, which is zero while that lasts. Both are zero where
// there was none. Of the embedded server it includes the time since it was
// stopped.
func (b *Broker) Outage() (from, until time.Time) {
	b.down.mu.Lock()
	defer b.down.mu.Unlock()
	return b.down.from, b.down.until
}

// wasDown begins an outage at the time the embedded server stored its last
// message: no client could publish since, nor can any before Admit.
func (b *Broker) wasDown(ctx context.Context) error {
	if b.opts.Listen == "" {
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
