package brokertest

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"

	"streamer/internal/broker"
)

// Unguarded publishes messages as if they had no conditions: where the server
// refuses one because another message is the last, Unguarded publishes it again
// under the condition that holds then. It is the control for tests that show what
// conditions prevent.
type Unguarded struct{ b *broker.Broker }

// Unguard returns an Unguarded that publishes through b.
func Unguard(b *broker.Broker) Unguarded { return Unguarded{b} }

// Publish publishes p and puts one Ack into acks, which is never a conflict.
func (u Unguarded) Publish(p *broker.Pub, acks chan<- broker.Ack) {
	go func() { acks <- u.PublishWait(context.Background(), p) }()
}

// PublishWait publishes p and waits for its outcome, which is never a conflict.
func (u Unguarded) PublishWait(ctx context.Context, p *broker.Pub) broker.Ack {
	q := *p
	q.Epoch, q.Header = 0, maps.Clone(p.Header)
	for {
		a := u.b.PublishWait(ctx, &q)
		a.Pub = p
		if !errors.Is(a.Err, broker.ErrConflict) {
			return a
		}
		last, err := u.last(ctx, &q)
		if err != nil {
			a.Err = err
			return a
		}
		q.Header[broker.HeaderPrev] = []string{strconv.FormatUint(last, 10)}
	}
}

func (u Unguarded) last(ctx context.Context, p *broker.Pub) (uint64, error) {
	stream, subject := broker.StreamEvents, p.Header.Get(broker.HeaderPrevOf)
	if subject == "" { // a key of a bucket: $KV.<bucket>.<key>
		bucket, _, _ := strings.Cut(strings.TrimPrefix(p.Subject, "$KV."), ".")
		stream, subject = "KV_"+bucket, p.Subject
	}
	m, err := u.b.LastMessage(ctx, stream, subject)
	if m == nil {
		return 0, err
	}
	return m.Seq, err
}
