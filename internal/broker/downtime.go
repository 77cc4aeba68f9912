package broker

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// downtime is the last period in which inputs could not be stored, as far as this
// process knows.
type downtime struct {
	mu          sync.Mutex
	from, until time.Time // until is zero while it lasts
	pulse       time.Time // when the first pulse was sent that is not answered, zero if all are
}

// SilentAfter is how long the input log may take to answer. An answer that takes longer
// shows an outage, which began when the message was sent. A log that stores nothing for
// a moment, as when its leader changes or was stopped, loses no connection.
const SilentAfter = 250 * time.Millisecond

// answered notes that the input log answered what was sent at a time. A late answer
// shows an outage that is over. What was answered together shows the same outage.
func (d *downtime) answered(sent, now time.Time) {
	if now.Sub(sent) < SilentAfter {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	same := now.Sub(d.until) < SilentAfter || d.until.IsZero() && !d.from.IsZero()
	if same && d.from.Before(sent) {
		return
	}
	if d.from = sent; !same {
		d.until = now
	}
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
	d := &b.down
	d.mu.Lock()
	defer d.mu.Unlock()
	lasts := !d.from.IsZero() && d.until.IsZero()
	if !lasts && !d.pulse.IsZero() && time.Since(d.pulse) >= SilentAfter {
		return d.pulse, time.Time{}
	}
	return d.from, d.until
}

// Pulse asks the input log for a sign that it can store inputs: a publish whose condition
// never holds, so that nothing is stored. Only the leader of the stream answers it.
// Callers send pulses regularly. While one is not answered there is an outage.
func (b *Broker) Pulse() {
	d := &b.down
	d.mu.Lock()
	if d.pulse.IsZero() {
		d.pulse = time.Now()
	}
	d.mu.Unlock()
	// A pulse that cannot be sent has no answer.
	_ = b.nc.PublishMsg(&nats.Msg{Subject: SubjectProbe, Reply: b.pubs.pulses, Header: nats.Header{headerLast: {impossible}}})
}

// pulsed notes the answer to a pulse.
func (d *downtime) pulsed(m *nats.Msg) {
	if m.Header.Get("Status") != "" { // the stream is offline or has no leader
		return
	}
	d.mu.Lock()
	sent := d.pulse
	d.pulse = time.Time{}
	d.mu.Unlock()
	if !sent.IsZero() {
		d.answered(sent, time.Now())
	}
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
