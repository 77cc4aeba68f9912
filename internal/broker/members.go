package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Beat says that a worker is there, and will be for ttl (at least a second)
// without another beat. id is one token of a subject.
func (b *Broker) Beat(ctx context.Context, id string, ttl time.Duration) error {
	h := nats.Header{headerTTL: {ttl.Truncate(time.Second).String()}}
	return b.PublishWait(ctx, &Pub{Subject: rootMembers + id, Header: h}).Err
}

// Leave takes a worker's beat back, so that the others need not wait for its
// end.
func (b *Broker) Leave(ctx context.Context, id string) error {
	var done failure
	if err := b.ask(ctx, apiPurge+streamMembers, map[string]any{"filter": rootMembers + id}, &done); err != nil {
		return fmt.Errorf("broker: leaving: %w", err)
	}
	return nil
}

// forgetMembers takes back the beats of workers of an embedded server that was
// killed: nobody else is connected to the one that starts.
func (b *Broker) forgetMembers(ctx context.Context) error {
	var done failure
	if err := b.ask(ctx, apiPurge+streamMembers, nil, &done); err != nil {
		return fmt.Errorf("broker: forgetting workers that are gone: %w", err)
	}
	return nil
}

// Members gives the ids of the workers that are there, in order. It is meant
// to be polled: watching a KV bucket is blind for some 16 s after a restart of
// the server. A wrong answer costs time, never correctness.
func (b *Broker) Members(ctx context.Context) ([]string, error) {
	var info struct {
		failure
		State struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	if err := b.ask(ctx, apiStreamInfo+streamMembers, map[string]any{"subjects_filter": rootMembers + ">"}, &info); err != nil {
		return nil, fmt.Errorf("broker: members: %w", err)
	}
	ids := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		ids = append(ids, strings.TrimPrefix(subject, rootMembers))
	}
	slices.Sort(ids)
	return ids, nil
}

// LastBeat tells which beat of a worker is its last, as a number that grows
// from beat to beat; 0 if there is none, or streamer did not write it.
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
