package broker

import (
	"context"
	"fmt"
)

// Streams of earlier layouts. They have other names, or are in another account,
// and other content under the same headers: this version cannot read them.
const (
	earlierSnapshots   = "KV_STREAMER_STATE"
	earlierCheckpoints = "KV_STREAMER_MARK"
)

// earlierLayout is the reason why streams of an earlier layout are refused, and
// what to do.
const earlierLayout = "an earlier version of streamer wrote it, which this version cannot read: run that version, or remove all streams of streamer to begin anew, which deletes their events"

// refuseEarlierStreams returns an error if the server has streams of an earlier
// layout. Where the streams of this layout exist, there are none.
func (b *Broker) refuseEarlierStreams(ctx context.Context) error {
	if info, err := b.stream(ctx, streamSnapshots); err != nil || info != nil {
		return err
	}
	for _, name := range [...]string{earlierSnapshots, earlierCheckpoints} {
		switch info, err := b.stream(ctx, name); {
		case err != nil:
			return err
		case info != nil:
			return fmt.Errorf("broker: stream %s on %s has an earlier layout: %s", name, b.URL(), earlierLayout)
		}
	}
	return nil
}
