package broker

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// A server writes the acknowledgement of a publish to any reply subject, so that
// a client of streamer's account can store one on an internal subject.
// Acknowledgements have no headers. Every message that streamer publishes there
// has one of these.
const (
	ownInput      = HeaderMsgID // of clock and rules inputs
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
