package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"streamer/internal/events"
)

// Chunk is a stored chunk of a large value. A chunk that is stored again has another Seq.
type Chunk struct {
	Seq uint64
	At  time.Time
}

// Chunks returns the stored chunks of all large values by their digest.
func (b *Broker) Chunks(ctx context.Context) (map[string]Chunk, error) {
	all := map[string]Chunk{}
	err := b.ReadToEnd(ctx, Reading{Stream: streamBlobs, HeadersOnly: true}, 1, Each(func(m Message) error {
		all[strings.TrimPrefix(m.Subject, rootBlobs)] = Chunk{m.Seq, m.At}
		return nil
	}))
	return all, err
}

// DeleteChunk deletes a chunk, unless it was stored again since.
func (b *Broker) DeleteChunk(ctx context.Context, c Chunk) error {
	return b.DeleteMessage(ctx, streamBlobs, c.Seq)
}

// SnapshotRefs calls fn with the large value of each snapshot that has one.
func (b *Broker) SnapshotRefs(ctx context.Context, fn func(events.Ref)) error {
	return b.ReadToEnd(ctx, Reading{Stream: streamSnapshots}, 1, Each(func(m Message) error {
		if m.Header.Get(snapshotRef) == "" {
			return nil
		}
		var ref events.Ref
		if err := json.Unmarshal(m.Data, &ref); err != nil {
			return fmt.Errorf("broker: snapshot of session %s: its reference to a large value: %w", tokenOf(m.Subject), err)
		}
		fn(ref)
		return nil
	}))
}
