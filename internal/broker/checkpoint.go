package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Witness identifies an input. Its sequence alone does not: after a power loss,
// or where the files of the stream were restored, the server assigns sequences
// again. The times at which it stored the two inputs differ.
type Witness struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

// Checkpoint is the position from which a partition is folded again.
type Checkpoint struct {
	Seq   uint64          `json:"seq"`             // first input that the snapshots do not cover
	Rules json.RawMessage `json:"rules,omitempty"` // the rules in force there
	Read  Witness         `json:"read,omitzero"`   // the last input that was folded when the checkpoint was found
	// Snapshots is the newest revision of the snapshots that the checkpoint relies on, 0 if
	// it is not known.
	Snapshots uint64 `json:"snapshots,omitempty"`
}

// LoadCheckpoint reads the checkpoint of a partition from its stream's leader;
// zeros if there is none. With ErrDamaged, and where the key was deleted, rev is
// the revision of the message stored in its place.
func (b *Broker) LoadCheckpoint(ctx context.Context, p int) (c Checkpoint, rev uint64, err error) {
	c, rev, _, err = b.loadCheckpoint(ctx, p)
	return c, rev, err
}

func (b *Broker) loadCheckpoint(ctx context.Context, p int) (c Checkpoint, rev uint64, raw []byte, err error) {
	m, err := b.LastMessage(ctx, streamCheckpoints, rootCheckpoints+strconv.Itoa(p))
	if err != nil || m == nil {
		return Checkpoint{}, 0, nil, err
	}
	if deleted(m.Header) {
		return Checkpoint{}, m.Seq, nil, nil
	}
	if c, err = parseCheckpoint(m); err != nil {
		return Checkpoint{}, m.Seq, nil, b.damaged(fmt.Sprintf("checkpoint of partition %d", p), m.Subject, m.Seq, err)
	}
	return c, m.Seq, m.Data, nil
}

func parseCheckpoint(m *Message) (c Checkpoint, err error) {
	if !own(m.Header, ownCheckpoint) {
		return Checkpoint{}, errors.New(notOwn)
	}
	d := json.NewDecoder(bytes.NewReader(m.Data))
	d.DisallowUnknownFields() // for example those of an acknowledgement
	if err := d.Decode(&c); err != nil {
		return Checkpoint{}, err
	}
	return c, nil
}

// WriteCheckpoint replaces the checkpoint whose revision is rev (0: there is none), a
// damaged one too. It returns ErrConflict if another one is stored, and ErrBackwards if
// c is before it.
func (b *Broker) WriteCheckpoint(ctx context.Context, p int, c Checkpoint, rev uint64) (newRev uint64, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return 0, fmt.Errorf("broker: checkpoint of partition %d: %w", p, err)
	}
	old, at, _, err := b.loadCheckpoint(ctx, p)
	switch {
	case err != nil && (at != rev || !errors.Is(err, ErrDamaged)):
		return 0, err
	case at != rev:
		return 0, fmt.Errorf("%w: the checkpoint of partition %d has revision %d, not %d", ErrConflict, p, at, rev)
	case c.Seq < old.Seq:
		return 0, fmt.Errorf("%w: of partition %d from %d to %d", ErrBackwards, p, old.Seq, c.Seq)
	}
	pub := &Pub{Subject: rootCheckpoints + strconv.Itoa(p), Header: nats.Header{HeaderPrev: {strconv.FormatUint(rev, 10)}}, Data: data}
	ack := b.PublishWait(ctx, pub)
	if !errors.Is(ack.Err, ErrConflict) {
		return ack.Seq, ack.Err
	}
	// The conflict may be with an earlier try of this call whose ack was lost.
	if _, at, raw, err := b.loadCheckpoint(ctx, p); err == nil && at > rev && bytes.Equal(raw, data) {
		return at, nil
	}
	return 0, ack.Err
}
