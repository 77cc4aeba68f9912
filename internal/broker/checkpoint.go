package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Mark is a partition's checkpoint.
type Mark struct {
	Seq     uint64          `json:"seq"`               // first input not covered by saved states
	Rules   json.RawMessage `json:"rules,omitempty"`   // the rules in force there
	Read    Witness         `json:"read,omitzero"`     // the last input that was folded when the mark was written
	Rewinds Rewinds         `json:"rewinds,omitempty"` // of the input log
}

// LoadMark reads the mark of a partition from its stream's leader; zeros if
// there is none. With ErrDamaged, and where the key was deleted, rev is that of
// what is stored in its place.
func (b *Broker) LoadMark(ctx context.Context, p int) (m Mark, rev uint64, err error) {
	m, rev, _, err = b.loadMark(ctx, p)
	return m, rev, err
}

func (b *Broker) loadMark(ctx context.Context, p int) (m Mark, rev uint64, raw []byte, err error) {
	stored, err := b.lastMessage(ctx, streamMarks, rootMarks+strconv.Itoa(p))
	if err != nil || stored == nil {
		return Mark{}, 0, nil, err
	}
	if deleted(stored.Header) {
		return Mark{}, stored.Sequence, nil, nil
	}
	if m, err = parseMark(stored); err != nil {
		return Mark{}, stored.Sequence, nil, b.damaged(fmt.Sprintf("checkpoint of partition %d", p), stored.Subject, stored.Sequence, err)
	}
	return m, stored.Sequence, stored.Data, nil
}

func parseMark(stored *nats.RawStreamMsg) (m Mark, err error) {
	if !own(stored.Header, ownCheckpoint) {
		return Mark{}, errors.New(notOwn)
	}
	d := json.NewDecoder(bytes.NewReader(stored.Data))
	d.DisallowUnknownFields() // those of an acknowledgement, for one
	if err := d.Decode(&m); err != nil {
		return Mark{}, err
	}
	return m, nil
}

// SaveMark replaces the mark whose revision is rev (0: there is none):
// ErrConflict where another stands there, ErrBackwards where m is before it
// without recording a rewind that the stored one lacks. It replaces a damaged
// one too, where rev is that which LoadMark returned with ErrDamaged.
func (b *Broker) SaveMark(ctx context.Context, p int, m Mark, rev uint64) (newRev uint64, err error) {
	data, err := json.Marshal(m)
	if err != nil {
		return 0, fmt.Errorf("broker: mark of partition %d: %w", p, err)
	}
	old, at, _, err := b.loadMark(ctx, p)
	switch {
	case err != nil && (at != rev || !errors.Is(err, ErrDamaged)):
		return 0, err
	case at != rev:
		return 0, fmt.Errorf("%w: the mark of partition %d has revision %d, not %d", ErrConflict, p, at, rev)
	case m.Seq < old.Seq && m.Rewinds.Equal(old.Rewinds):
		return 0, fmt.Errorf("%w: of partition %d from %d to %d", ErrBackwards, p, old.Seq, m.Seq)
	}
	pub := &Pub{Subject: rootMarks + strconv.Itoa(p), Header: nats.Header{headerPrev: {strconv.FormatUint(rev, 10)}}, Data: data}
	ack := b.PublishWait(ctx, pub)
	if !errors.Is(ack.Err, ErrConflict) {
		return ack.Seq, ack.Err
	}
	// Perhaps by a first try of ours whose answer was lost.
	if _, at, raw, err := b.loadMark(ctx, p); err == nil && at > rev && bytes.Equal(raw, data) {
		return at, nil
	}
	return 0, ack.Err
}
