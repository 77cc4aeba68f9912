package broker

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A server writes the acknowledgement of a publish to any reply subject, so that
// a client of streamer's account can store one on an internal subject.
// Acknowledgements have no headers. Every message that streamer publishes there
// has one of these.
const (
	ownInput      = HeaderMsgID // of clock, erase and rules inputs
	ownSnapshot   = headerTTL
	ownCheckpoint = HeaderPrev
	ownHeartbeat  = headerTTL
)

func own(h nats.Header, header string) bool { return len(h[header]) > 0 }

// OwnInput reports whether streamer wrote an input of a kind that only streamer
// may write. It counts and reports a foreign one.
func (b *Broker) OwnInput(m *Message) bool {
	if own(m.Header, ownInput) {
		return true
	}
	b.ignored("foreign input", m.Subject, m.Seq)
	return false
}

// ignored counts and reports a message on an internal subject that streamer did
// not write. kind distinguishes what is reported once per interval.
func (b *Broker) ignored(kind, subject string, seq uint64) {
	b.counts.foreign.Add(1)
	b.report(kind, "message that streamer did not write ignored",
		fmt.Errorf("message %d on %s: another client can publish in streamer's NATS account", seq, subject))
}

func (b *Broker) damaged(what, subject string, seq uint64, why any) error {
	b.counts.foreign.Add(1)
	return fmt.Errorf("%w: %s: message %d on %s: %v", ErrDamaged, what, seq, subject, why)
}

const notOwn = "streamer did not write it; another client can publish in its NATS account"

// noticeLimit bounds the notices while a problem with NATS lasts: one for each
// kind of problem when it begins, and one per noticeInterval.
type noticeLimit struct {
	mu           sync.Mutex
	disconnected bool                 // there was a connection, and it is lost
	noticed      map[string]time.Time // by kind, in the last noticeInterval
}

const (
	noticeInterval = 30 * time.Second
	noticeKinds    = 64 // maximum number of kinds noticed in that time; others are left out
)

// The kinds of problems. Each error that the server sends without a request is a
// kind of its own.
const (
	noConnection  = "no connection"
	accessRefused = "refused" // waiting does not help
	noAnswer      = "no answer"
	noReading     = "no reading"
	noAck         = "no acknowledgement"
)

func (l *noticeLimit) connectionLost(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disconnected = true
	l.noticed = map[string]time.Time{noConnection: now}
}

func (l *noticeLimit) connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disconnected, l.noticed = false, nil
}

// allow reports whether to notice a problem of a kind now. A consequence of a
// lost connection is not noticed.
func (l *noticeLimit) allow(kind string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.disconnected && kind != noConnection && kind != accessRefused {
		return false
	}
	maps.DeleteFunc(l.noticed, func(_ string, at time.Time) bool { return now.Sub(at) >= noticeInterval })
	if _, known := l.noticed[kind]; known || len(l.noticed) >= noticeKinds {
		return false
	}
	if l.noticed == nil {
		l.noticed = map[string]time.Time{}
	}
	l.noticed[kind] = now
	return true
}

// report calls OnNotice with a recurring problem, at most once per interval for
// each kind.
func (b *Broker) report(kind, msg string, err error) {
	if b.notices.allow(kind, time.Now()) {
		b.Notice(msg, err)
	}
}
