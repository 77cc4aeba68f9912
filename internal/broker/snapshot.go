package broker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// SnapshotHeader begins the names of the headers of snapshots that callers set.
const SnapshotHeader = "Streamer-Snapshot-"

const snapshotRef = "Streamer-Blob"

// Snapshot is the stored state of a session.
type Snapshot struct {
	Rev    uint64 // the condition of the next SnapshotPub
	At     time.Time
	Header map[string]string // as passed to SnapshotPub
	Data   []byte
}

// LoadSnapshot reads a session's snapshot from its stream's leader; ok is false
// if there is none. The blobs of a large one are read and checked. With
// ErrDamaged, and where the key was deleted, s.Rev and s.At are those of the
// message stored in its place.
func (b *Broker) LoadSnapshot(ctx context.Context, p int, token string) (s Snapshot, ok bool, err error) {
	m, err := b.LastMessage(ctx, streamSnapshots, snapshotSubject(p, token))
	if err != nil || m == nil {
		return Snapshot{}, false, err
	}
	if deleted(m.Header) {
		return Snapshot{Rev: m.Seq, At: m.At}, false, nil
	}
	s, err = b.snapshot(ctx, m)
	return s, err == nil, err
}

// snapshot reads a stored snapshot, and the blobs it refers to. With ErrDamaged,
// Rev and At are those of the message stored in its place.
func (b *Broker) snapshot(ctx context.Context, m *Message) (Snapshot, error) {
	s := Snapshot{Rev: m.Seq, At: m.At}
	what := "snapshot of session " + tokenOf(m.Subject)
	if !own(m.Header, ownSnapshot) {
		return s, b.damaged(what, m.Subject, m.Seq, notOwn)
	}
	data, err := b.snapshotData(ctx, m)
	switch {
	case errors.Is(err, errUnreadable), errors.Is(err, events.ErrNotFound), errors.Is(err, ErrDamaged):
		return s, b.damaged(what, m.Subject, m.Seq, err)
	case err != nil:
		return Snapshot{}, fmt.Errorf("broker: %s: %w", what, err)
	}
	s.Header, s.Data = snapshotHeaders(m.Header), data
	return s, nil
}

func (b *Broker) snapshotData(ctx context.Context, m *Message) ([]byte, error) {
	if m.Header.Get(snapshotRef) == "" {
		return m.Data, nil
	}
	var ref events.Ref
	if err := json.Unmarshal(m.Data, &ref); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return b.Blob(ctx, ref)
}

func tokenOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// AllSnapshots reads the snapshots of all partitions with one consumer. wrong is
// the reason why a snapshot or its blobs cannot be read. A snapshot that is
// written meanwhile is read twice, the later one last.
func (b *Broker) AllSnapshots(ctx context.Context, fn func(token string, s Snapshot, wrong error) error) error {
	return b.ReadToEnd(ctx, Reading{Stream: streamSnapshots}, 1, Each(func(m Message) error {
		if deleted(m.Header) {
			return nil
		}
		s, wrong := b.snapshot(ctx, &m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fn(tokenOf(m.Subject), s, wrong)
	}))
}

// SnapshotAge returns for how long a snapshot is kept after it was written.
func (b *Broker) SnapshotAge() time.Duration { return b.snapshotAge }

// SnapshotPub returns the publish that writes a session's snapshot where rev is
// the stored revision (0: there is none). The Ack's Seq is the new revision, its
// Err Is ErrConflict where the revision is another. header is a small map that
// ListSnapshots returns without the data; its keys are SnapshotHeader and letters.
// Data above 64 KiB is stored in blobs: these Pubs must be stored before pub is sent.
func (b *Broker) SnapshotPub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *Pub, blobs []*Pub) {
	h := nats.Header{
		headerTTL:  {b.snapshotAge.Truncate(time.Second).String()}, // which the library's kv.Update would drop
		HeaderPrev: {strconv.FormatUint(rev, 10)},
	}
	for k, v := range header {
		h[k] = []string{v}
	}
	if len(data) > events.BlobChunk {
		blob := events.NewBlob(data)
		blob.Ref.Preview = "" // never shown
		blobs = b.BlobPubs(blob)
		data, _ = json.Marshal(blob.Ref) // strings and numbers: cannot fail
		h[snapshotRef] = []string{"1"}
	}
	return &Pub{Subject: snapshotSubject(p, token), Header: h, Data: data}, blobs
}

// listRounds is the maximum number of reads of a listing.
const listRounds = 10

// ListSnapshots calls fn with the headers of every snapshot of partition p, or of
// all partitions if p is negative. A listing can be stale, and includes a
// snapshot that is written meanwhile twice. It leaves out tokens whose inputs are
// skipped: their snapshots cannot be read. Where something else is stored in
// place of a snapshot, header is nil.
//
// A snapshot that is replaced moves to the end of the stream, and the number of
// messages that wait there can be out of date. So the listing continues until the
// stream's leader has none that it did not read. It ends after a number of rounds,
// and is then not complete.
func (b *Broker) ListSnapshots(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error) {
	r := Reading{Stream: streamSnapshots, HeadersOnly: true}
	if p >= 0 {
		r.Filter = snapshotSubject(p, "*")
	}
	next := uint64(1)
	for range listRounds {
		err := b.ReadToEnd(ctx, r, next, Each(func(m Message) error {
			next = m.Seq + 1
			return b.listSnapshot(&m, fn)
		}))
		if err != nil {
			return false, err
		}
		last, err := b.LastMessage(ctx, streamSnapshots, cmp.Or(r.Filter, ">"))
		if err != nil {
			return false, err
		}
		if last == nil || last.Seq < next {
			return true, nil
		}
	}
	return false, nil
}

func (b *Broker) listSnapshot(m *Message, fn func(token string, rev uint64, header map[string]string, at time.Time) error) error {
	token := tokenOf(m.Subject)
	if deleted(m.Header) || !Answerable(token) {
		return nil
	}
	header := snapshotHeaders(m.Header)
	if !own(m.Header, ownSnapshot) {
		b.ignored(m.Subject, m.Subject, m.Seq)
		header = nil
	}
	return fn(token, m.Seq, header, m.At)
}

func snapshotSubject(p int, token string) string {
	return rootSnapshots + strconv.Itoa(p) + "." + token
}

func snapshotHeaders(h nats.Header) map[string]string {
	own := map[string]string{}
	for k, v := range h {
		if strings.HasPrefix(k, SnapshotHeader) && len(v) > 0 {
			own[k] = v[0]
		}
	}
	return own
}

func deleted(h nats.Header) bool {
	return h.Get("KV-Operation") != "" || h.Get("Nats-Marker-Reason") != ""
}

const maxBlob = 1 << 30

// BlobPubs returns the publishes that store a blob. All of them must be stored
// before an event or snapshot that refers to the blob. They are published again
// with every new reference, so that the blob never expires under a later one. They
// have no condition: storing a chunk twice is harmless.
func (b *Broker) BlobPubs(blob events.Blob) []*Pub {
	pubs := make([]*Pub, len(blob.Ref.Chunks))
	for i, digest := range blob.Ref.Chunks {
		pubs[i] = &Pub{Subject: rootBlobs + digest, Data: blob.Chunk(i)}
	}
	return pubs
}

// Blob reads a blob and checks its digests. It returns events.ErrNotFound where a
// chunk has expired, and ErrDamaged where another value is stored in place of one
// or the reference is that of no blob.
func (b *Broker) Blob(ctx context.Context, ref events.Ref) ([]byte, error) {
	if want := (ref.Size + events.BlobChunk - 1) / events.BlobChunk; ref.Size < 0 || ref.Size > maxBlob || len(ref.Chunks) != want {
		return nil, fmt.Errorf("%w: blob %.64q of %d bytes in %d chunks: no blob has such a reference", ErrDamaged, ref.SHA256, ref.Size, len(ref.Chunks))
	}
	var data []byte // grows with the chunks that are stored
	whole := sha256.New()
	for i, digest := range ref.Chunks {
		chunk, err := b.chunk(ctx, digest)
		if err != nil {
			return nil, fmt.Errorf("broker: blob %.64q, chunk %d: %w", ref.SHA256, i, err)
		}
		whole.Write(chunk)
		data = append(data, chunk...)
	}
	if got := hex.EncodeToString(whole.Sum(nil)); len(data) != ref.Size || got != ref.SHA256 {
		return nil, fmt.Errorf("%w: blob %.64q: its chunks are %d bytes with digest %s, not %d", ErrDamaged, ref.SHA256, len(data), got, ref.Size)
	}
	return data, nil
}

func (b *Broker) chunk(ctx context.Context, digest string) ([]byte, error) {
	// The name becomes part of a subject, so it must be a digest.
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("%w: %.64q is no digest", ErrDamaged, digest)
	}
	m, err := b.LastMessage(ctx, streamBlobs, rootBlobs+digest)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%w: chunk %s", events.ErrNotFound, digest)
	}
	if sum := sha256.Sum256(m.Data); hex.EncodeToString(sum[:]) != digest {
		return nil, b.damaged("chunk "+digest, m.Subject, m.Seq, "the stored value has another digest")
	}
	return m.Data, nil
}
