package broker

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// outages are the streams whose publishes are not stored. An outage lasts from the
// first publish that is not stored until the next that is. The zero value has none.
type outages struct {
	of   [6]outage // in the order of outageStreams
	down *downtime // records the outages of the input stream
}

// outageStreams are the streams this process publishes to: the roots of their
// subjects, and their content as an operator reads it.
var outageStreams = [...]struct{ content, root, alias string }{
	{"inputs", "llm.", "_llm."},
	{"events", "_toolcalls.", ""},
	{"large values", rootBlobs, ""},
	{"snapshots", rootSnapshots, ""},
	{"checkpoints", rootCheckpoints, ""},
	{"heartbeats", rootMembers, ""},
}

// outageInputs is the index of the stream of inputs.
const outageInputs = 0

// outage is the state of one stream.
type outage struct {
	lasts atomic.Bool // whether the rest is set; read at every acknowledgement

	mu    sync.Mutex
	since time.Time // the first publish that is not stored
	seen  time.Time // the last one
	size  int       // its bytes
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

var errSilentAck = errors.New("no acknowledgement")

// streamOf returns the index of the stream a subject belongs to, or -1.
func streamOf(subject string) int {
	for i := range outageStreams {
		s := &outageStreams[i]
		if strings.HasPrefix(subject, s.root) || s.alias != "" && strings.HasPrefix(subject, s.alias) {
			return i
		}
	}
	return -1
}

// failed notes that a publish is not stored.
func (o *outages) failed(f *flight, why error, now time.Time) {
	i := streamOf(f.pub.Subject)
	if i < 0 {
		return
	}
	s := &o.of[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lasts.Load() || now.Sub(s.seen) > outageFresh {
		s.since = now
	}
	if i == outageInputs {
		o.down.begin(f.sent)
	}
	s.seen, s.size, s.why = now, len(f.pub.Data), why
	s.lasts.Store(true)
}

// stored notes that a publish is stored.
func (o *outages) stored(f *flight, now time.Time) {
	i := streamOf(f.pub.Subject)
	if i >= 0 && o.of[i].lasts.Load() {
		o.of[i].lasts.Store(false)
		if i == outageInputs {
			o.down.end(now)
		}
	}
	if i == outageInputs {
		o.down.answered(f.sent, now)
	}
}

// problem returns what has not been stored for a while and why, or nil.
func (o *outages) problem(now time.Time) error {
	var all []error
	for i := range o.of {
		s := &o.of[i]
		if !s.lasts.Load() {
			continue
		}
		s.mu.Lock()
		d := now.Sub(s.since)
		if d >= outageAfter && now.Sub(s.seen) <= outageFresh {
			all = append(all, fmt.Errorf("broker: no %s stored for %v: %w", outageStreams[i].content, d.Round(time.Second), explained(s.why)))
		}
		s.mu.Unlock()
	}
	return errors.Join(all...)
}

// explained adds advice to a refusal.
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

// maxProbe is the maximum size of a probe in bytes.
const maxProbe = 64 << 10

// probe publishes a probe to the input log after a publish that is not sent again.
// Its acknowledgement ends the outage. Until then the probe shows that the outage
// lasts. It is as large as the publish that failed, because a full stream may still
// accept a smaller one. Workers skip probes.
func (p *publisher) probe(subject string) {
	if streamOf(subject) != outageInputs {
		return
	}
	p.mu.Lock()
	pending := p.flights[p.probing] != nil
	p.mu.Unlock()
	if pending {
		return
	}
	s := &p.outages.of[outageInputs]
	s.mu.Lock()
	size := min(s.size, maxProbe)
	s.mu.Unlock()
	no := p.publish(&Pub{Subject: SubjectProbe, Data: make([]byte, size)}, make(chan Ack, 1))
	p.mu.Lock()
	p.probing = no
	p.mu.Unlock()
}
