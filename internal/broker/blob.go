package broker

import (
	"context"

	"streamer/internal/events"
)

// BlobPubs gives the publishes that store a blob. All of them must be stored
// before an event or state that refers to the blob; they are published again
// whenever it is referred to again, so that it never expires under a later
// reference. They carry no condition: storing a chunk twice is harmless.
func (b *Broker) BlobPubs(blob events.Blob) []*Pub { return nil }

// Blob reads a blob and checks its digests: ErrNotFound where a chunk has
// expired.
func (b *Broker) Blob(ctx context.Context, ref events.Ref) ([]byte, error) { return nil, errTODO }
