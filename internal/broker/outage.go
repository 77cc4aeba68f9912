package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// publishedTo are the streams this process publishes to: the roots of their
// subjects, and their content as an operator reads it.
var publishedTo = [...]struct{ content, root, alias string }{
	{"inputs", "llm.", "_llm."},
	{"events", "_toolcalls.", ""},
	{"large values", rootBlobs, ""},
	{"snapshots", rootSnapshots, ""},
	{"checkpoints", rootCheckpoints, ""},
	{"heartbeats", rootMembers, ""},
}

const toInputs = 0

// streamState is what publishes showed of a stream, which answers in the order in which
// it received the messages of a connection. An outage lasts from the first publish that
// is not stored until the next that is.
type streamState struct {
	place uint64    // the greatest of a try that was answered
	at    time.Time // of the last answer

	since time.Time // the first publish that is not stored; zero if there is no outage
	seen  time.Time // the last one
	why   error
}

const (
	// outageAfter is how long an outage lasts before it is a problem: changes of
	// leader and restarts of a server take some seconds.
	outageAfter = 5 * time.Second
	// outageFresh is how long an outage lasts after the last publish that was not
	// stored. A publish in flight is sent again more often.
	outageFresh = 3 * ackWait
)

// streamOf returns the index of the stream a subject belongs to. Of an unknown one it
// is the last in inflights.streams.
func streamOf(subject string) int {
	for i := range publishedTo {
		s := &publishedTo[i]
		if strings.HasPrefix(subject, s.root) || s.alias != "" && strings.HasPrefix(subject, s.alias) {
			return i
		}
	}
	return len(publishedTo)
}

// noteOutage notes that a publish is not stored. The caller holds p.mu.
func (p *inflights) noteOutage(f *inflight, now time.Time) {
	s := &p.streams[f.stream]
	if s.since.IsZero() || now.Sub(s.seen) > outageFresh {
		s.since = now
	}
	s.seen, s.why = now, cmp.Or(f.why, errSilentAck)
	if f.stream == toInputs {
		p.b.down.begin(f.sent)
	}
}

// endOutage notes that a publish is stored. The caller holds p.mu.
func (p *inflights) endOutage(f *inflight, now time.Time) {
	s := &p.streams[f.stream]
	over := !s.since.IsZero()
	s.since = time.Time{}
	if f.stream != toInputs {
		return
	}
	if over {
		p.b.down.end(now)
	}
	p.b.down.answered(f.sent, now)
}

func (p *inflights) problem(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []error
	for i := range publishedTo {
		s := &p.streams[i]
		d := now.Sub(s.since)
		if !s.since.IsZero() && d >= outageAfter && now.Sub(s.seen) <= outageFresh {
			all = append(all, fmt.Errorf("broker: no %s stored for %v: %w", publishedTo[i].content, d.Round(time.Second), explained(s.why)))
		}
	}
	return errors.Join(all...)
}

func explained(why error) error {
	refused, ok := errors.AsType[*apiError](why)
	switch {
	case !ok:
		return why
	case refused.full():
		return fmt.Errorf("%w; %s", why, fullAdvice)
	case refused.ErrCode == codeNoResources:
		return fmt.Errorf("%w: the streams have reached the server's limit of storage; they store messages again when old ones expire or the disk has more space", why)
	}
	return why
}

// fullAdvice explains when a full input stream accepts inputs again.
const fullAdvice = "the input log is full and accepts inputs again when old ones expire, or with a larger --max-bytes"

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

func (d *downtime) begin(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.from.IsZero() || !d.until.IsZero() {
		d.from, d.until = t, time.Time{}
	}
}

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

// Ready returns nil if there is a connection, every stream has a leader and
// stores what is published. The error explains what does not work.
func (b *Broker) Ready(ctx context.Context) error {
	if err := b.Broken(); err != nil {
		return err
	}
	for _, nc := range []*nats.Conn{b.nc, b.reads} {
		if status := nc.Status(); status != nats.CONNECTED {
			return fmt.Errorf("broker: %w: %s", errNotConnected, strings.ToLower(status.String()))
		}
	}
	for _, name := range streamNames {
		// Only a leader answers.
		var info streamInfo
		if err := b.askOnce(ctx, apiStreamInfo+name, nil, &info); err != nil {
			return fmt.Errorf("broker: stream %s does not answer: %w", name, errors.Join(err, b.pubs.problem(time.Now())))
		}
		if err := info.room(); err != nil {
			return err
		}
	}
	return b.pubs.problem(time.Now())
}

// Broken returns why the embedded server stores nothing, nil if it does or is none.
func (b *Broker) Broken() error {
	if b.embedded == nil {
		return nil
	}
	return b.embedded.Problem()
}

// leastInput is approximately the size of the smallest input. A stream without space
// for it is full, even if this process publishes nothing to it.
const leastInput = 256

func (i *streamInfo) room() error {
	if limit := i.Config.MaxBytes; limit > 0 && i.State.Bytes+leastInput > limit && i.Config.Name == StreamInputs {
		return fmt.Errorf("broker: %s (%d of %d bytes)", fullAdvice, i.State.Bytes, limit)
	}
	return nil
}
