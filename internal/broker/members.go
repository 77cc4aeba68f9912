package broker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Beat writes a worker's heartbeat, which expires after ttl (at least a second). id
// is one token of a subject.
func (b *Broker) Beat(ctx context.Context, id string, ttl time.Duration) error {
	h := nats.Header{headerTTL: {ttl.Truncate(time.Second).String()}}
	return b.PublishWait(ctx, &Pub{Subject: rootMembers + id, Header: h}).Err
}

// Leave deletes a worker's heartbeat, so that the others need not wait until it
// expires.
func (b *Broker) Leave(ctx context.Context, id string) error {
	return b.forgetMembers(ctx, rootMembers+id)
}

// forgetMembers deletes the heartbeats on a filter. When an embedded server starts, it
// deletes those of the workers before: no other process is connected to it.
func (b *Broker) forgetMembers(ctx context.Context, filter string) error {
	_, err := b.Purge(ctx, streamMembers, filter, 0)
	return err
}

// Members returns the ids of the workers that have a heartbeat, in order. Callers
// poll it: a watch of a KV bucket sees nothing for about 16 s after a restart of
// the server. A wrong answer costs time, never correctness.
func (b *Broker) Members(ctx context.Context) ([]string, error) {
	var ids []string
	err := b.Subjects(ctx, streamMembers, rootMembers+">", func(subject string, _ int) {
		ids = append(ids, strings.TrimPrefix(subject, rootMembers))
	})
	slices.Sort(ids)
	return ids, err
}

// LastBeat returns a number that grows with each heartbeat of a worker; 0 if there
// is none, or streamer did not write it.
func (b *Broker) LastBeat(ctx context.Context, id string) (uint64, error) {
	m, err := b.LastMessage(ctx, streamMembers, rootMembers+id)
	if err != nil || m == nil {
		return 0, err
	}
	if !own(m.Header, ownHeartbeat) {
		b.ignored("foreign heartbeat", m.Subject, m.Seq)
		return 0, nil
	}
	return m.Seq, nil
}
