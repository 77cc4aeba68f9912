package broker

import (
	"context"
	"time"
)

// State is the saved state of a session.
type State struct {
	Rev    uint64 // to give to the next SavePub
	At     time.Time
	Header map[string]string // as given to SavePub
	Data   []byte
}

// LoadState reads a session's state from its stream's leader; ok is false
// where there is none. The blobs of a large one are read and checked.
func (b *Broker) LoadState(ctx context.Context, p int, token string) (s State, ok bool, err error) {
	return State{}, false, errTODO
}

// SavePub saves a session's state where rev is the stored one's (0: there must
// be none); the Ack's Seq is the new revision, its Err Is ErrConflict where
// the revision is another. header is a small free map that ListStates gives
// back without the data; its keys are letters only. Data above 64 KiB goes
// into blobs: these Pubs must be stored before pub is sent.
func (b *Broker) SavePub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *Pub, blobs []*Pub) {
	return nil, nil
}

// ListStates gives what is known of every saved state of partition p, or of
// all if p is negative, without its data. A listing can be stale.
func (b *Broker) ListStates(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) error {
	return errTODO
}
