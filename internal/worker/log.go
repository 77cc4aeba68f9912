package worker

import (
	"context"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/rewind"
)

// Log is the part of the broker that a worker uses. Each component takes one or
// two of these interfaces.
type Log interface {
	Inputs
	InputHistory
	Events
	EventSurvey
	Publisher
	Messages
	Snapshots
	Checkpoints
	rewind.RepairLog
}

// Inputs delivers the inputs of a partition and returns where the log begins,
// ends and stands.
type Inputs interface {
	Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []inputs.Input, next uint64, caughtUp bool) error) error
	InputPosition(ctx context.Context, partition int, next uint64) (uint64, error)
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Partition(token string) int
	Replicated() bool
}

// InputHistory reads inputs that are stored already.
type InputHistory interface {
	Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error)
	SessionInputs(ctx context.Context, token string, from uint64, fn func(*inputs.Input) error) error
	RulesInputs(ctx context.Context, p int, fn func(*inputs.Input) error) error
	LastRules(ctx context.Context, p int) (in inputs.Input, ok bool, err error)
}

// Events reads the event log of a session.
type Events interface {
	Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error
	Event(ctx context.Context, token string, seq uint64) (events.Record, error)
	Head(ctx context.Context, token string) (seq uint64, last events.Record, err error)
	EventBounds(ctx context.Context) (first, last uint64, err error)
}

// EventSurvey reads the event log of all sessions.
type EventSurvey interface {
	RecentEvents(ctx context.Context, t time.Time) (map[int]eventlog.Recent, error)
	OpenEvents(ctx context.Context) (map[string]eventlog.Opened, error)
}

// Publisher publishes messages. Epoch returns the connection epoch and Outage
// when inputs could last not be stored.
type Publisher interface {
	Epoch() uint64
	Outage() (from, until time.Time)
	Publish(p *broker.Pub, acks chan<- broker.Ack)
	PublishWait(ctx context.Context, p *broker.Pub) broker.Ack
}

// Messages makes the messages that a worker publishes.
type Messages interface {
	EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *broker.Pub
	ClockPub(token, msgID string, data []byte) *broker.Pub
	RulesPub(p int, msgID string, data []byte) *broker.Pub
	BlobPubs(blob events.Blob) []*broker.Pub
	SnapshotPub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *broker.Pub, blobs []*broker.Pub)
}

// Snapshots reads the snapshots of sessions.
type Snapshots interface {
	LoadSnapshot(ctx context.Context, p int, token string) (s broker.Snapshot, ok bool, err error)
	ListSnapshots(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error)
}

// Checkpoints reads and writes the checkpoint of a partition.
type Checkpoints interface {
	LoadCheckpoint(ctx context.Context, p int) (m broker.Checkpoint, rev uint64, err error)
	WriteCheckpoint(ctx context.Context, p int, m broker.Checkpoint, rev uint64) (newRev uint64, err error)
}
