package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// Headers of saved states: the caller's own begin with stateHeader; stateRef
// tells that the data is a reference to a blob.
const (
	stateHeader = "Streamer-State-"
	stateRef    = "Streamer-Blob"
)

// State is the saved state of a session.
type State struct {
	Rev    uint64 // to give to the next SavePub
	At     time.Time
	Header map[string]string // as given to SavePub
	Data   []byte
}

// LoadState reads a session's state from its stream's leader; ok is false
// where there is none. The blobs of a large one are read and checked. With
// ErrDamaged, and where the key was deleted, s.Rev and s.At are those of what is
// stored in its place.
func (b *Broker) LoadState(ctx context.Context, p int, token string) (s State, ok bool, err error) {
	m, err := b.lastMessage(ctx, streamStates, stateSubject(p, token))
	if err != nil || m == nil {
		return State{}, false, err
	}
	if deleted(m.Header) {
		return State{Rev: m.Sequence, At: m.Time}, false, nil
	}
	s, err = b.state(ctx, stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data})
	return s, err == nil, err
}

// state reads what is stored of a session, and the blobs it refers to. With
// ErrDamaged, Rev and At are those of what is stored in its place.
func (b *Broker) state(ctx context.Context, m stored) (State, error) {
	s := State{Rev: m.seq, At: m.at}
	what := "snapshot of session " + tokenOf(m.subject)
	if !own(m.header, ownSnapshot) {
		return s, b.damaged(what, m.subject, m.seq, notOwn)
	}
	data, err := b.stateData(ctx, m)
	switch {
	case errors.Is(err, errUnreadable), errors.Is(err, events.ErrNotFound), errors.Is(err, ErrDamaged):
		return s, b.damaged(what, m.subject, m.seq, err)
	case err != nil:
		return State{}, fmt.Errorf("broker: %s: %w", what, err)
	}
	s.Header, s.Data = stateHeaders(m.header), data
	return s, nil
}

// stateData returns the data of a stored state, which is perhaps in blobs.
func (b *Broker) stateData(ctx context.Context, m stored) ([]byte, error) {
	if m.header.Get(stateRef) == "" {
		return m.data, nil
	}
	var ref events.Ref
	if err := json.Unmarshal(m.data, &ref); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return b.Blob(ctx, ref)
}

// tokenOf returns the token at the end of a state's subject.
func tokenOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// AllStates reads the saved states of all partitions with one consumer. wrong is
// why the blobs of a state cannot be read. A state that is saved meanwhile comes
// twice, the later one last.
func (b *Broker) AllStates(ctx context.Context, fn func(token string, s State, wrong error) error) error {
	return b.readToEnd(ctx, reading{stream: streamStates}, 1, func(m stored) error {
		if deleted(m.header) {
			return nil
		}
		s, wrong := b.state(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fn(tokenOf(m.subject), s, wrong)
	})
}

// StateAge returns how long a saved state is kept after it was written.
func (b *Broker) StateAge() time.Duration { return b.stateAge }

// SavePub saves a session's state where rev is the stored one's (0: there must
// be none); the Ack's Seq is the new revision, its Err Is ErrConflict where
// the revision is another. header is a small free map that ListStates gives
// back without the data; its keys are letters only. Data above 64 KiB goes
// into blobs: these Pubs must be stored before pub is sent.
func (b *Broker) SavePub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *Pub, blobs []*Pub) {
	h := nats.Header{}
	for k, v := range header {
		h[stateHeader+k] = []string{v}
	}
	if len(data) > events.BlobChunk {
		blob := events.NewBlob(data)
		blob.Ref.Preview = "" // nobody reads it
		blobs = b.BlobPubs(blob)
		data, _ = json.Marshal(blob.Ref) // strings and numbers: cannot fail
		h[stateRef] = []string{"1"}
	}
	// The library's kv.Update would drop the TTL.
	h[headerTTL] = []string{b.stateAge.Truncate(time.Second).String()}
	if !b.opts.NoCondition {
		h[headerPrev] = []string{strconv.FormatUint(rev, 10)}
	}
	return &Pub{Subject: stateSubject(p, token), Header: h, Data: data}, blobs
}

// LastState returns the revision of the state of partition p that was saved last,
// from its stream's leader: a listing that does not reach it is stale.
func (b *Broker) LastState(ctx context.Context, p int) (rev uint64, err error) {
	m, err := b.lastMessage(ctx, streamStates, stateSubject(p, "*"))
	if err != nil || m == nil || deleted(m.Header) {
		return 0, err
	}
	return m.Sequence, nil
}

// ListStates gives what is known of every saved state of partition p, or of
// all if p is negative, without its data. A listing can be stale, and gives a
// state that is saved meanwhile twice. It leaves out tokens whose inputs are
// skipped: their states cannot be read. Where something is stored in place of a
// state, header is nil.
func (b *Broker) ListStates(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) error {
	r := reading{stream: streamStates, headers: true}
	if p >= 0 {
		r.filter = stateSubject(p, "*")
	}
	return b.readToEnd(ctx, r, 1, func(m stored) error {
		if deleted(m.header) {
			return nil
		}
		token := tokenOf(m.subject)
		if !answerable(token) {
			return nil
		}
		header := stateHeaders(m.header)
		if !own(m.header, ownSnapshot) {
			b.ignored(m.subject, m.subject, m.seq)
			header = nil
		}
		return fn(token, m.seq, header, m.at)
	})
}

func stateSubject(p int, token string) string {
	return rootStates + strconv.Itoa(p) + "." + token
}

func stateHeaders(h nats.Header) map[string]string {
	own := map[string]string{}
	for k, v := range h {
		if name, ok := strings.CutPrefix(k, stateHeader); ok && len(v) > 0 {
			own[name] = v[0]
		}
	}
	return own
}

// deleted tells that a message of a KV bucket stands for a deleted key.
func deleted(h nats.Header) bool {
	return h.Get("KV-Operation") != "" || h.Get("Nats-Marker-Reason") != ""
}
