package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"streamer/internal/events"
)

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
