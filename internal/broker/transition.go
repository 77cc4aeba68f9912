package broker

import (
	"context"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// The names in this file are earlier names that package worker still uses.

// Input is inputs.Input.
type Input = inputs.Input

// Stored is events.Record.
type Stored = events.Record

// Mark is Checkpoint.
type Mark = Checkpoint

// State is Snapshot.
type State = Snapshot

// LoadMark is LoadCheckpoint.
func (b *Broker) LoadMark(ctx context.Context, p int) (Mark, uint64, error) {
	return b.LoadCheckpoint(ctx, p)
}

// SaveMark is WriteCheckpoint.
func (b *Broker) SaveMark(ctx context.Context, p int, m Mark, rev uint64) (uint64, error) {
	return b.WriteCheckpoint(ctx, p, m, rev)
}

// LoadState is LoadSnapshot.
func (b *Broker) LoadState(ctx context.Context, p int, token string) (State, bool, error) {
	return b.LoadSnapshot(ctx, p, token)
}

// ListStates is ListSnapshots.
func (b *Broker) ListStates(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) error {
	return b.ListSnapshots(ctx, p, fn)
}

// AllStates is AllSnapshots.
func (b *Broker) AllStates(ctx context.Context, fn func(token string, s State, wrong error) error) error {
	return b.AllSnapshots(ctx, fn)
}

// LastState is LastSnapshot.
func (b *Broker) LastState(ctx context.Context, p int) (uint64, error) { return b.LastSnapshot(ctx, p) }

// StateAge is SnapshotAge.
func (b *Broker) StateAge() time.Duration { return b.SnapshotAge() }

// SavePub is SnapshotPub.
func (b *Broker) SavePub(p int, token string, rev uint64, header map[string]string, data []byte) (*Pub, []*Pub) {
	return b.SnapshotPub(p, token, rev, header, data)
}
