package broker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestListWhileWriting checks that a listing has every session although snapshots
// are replaced meanwhile: a snapshot that is replaced moves to the end of the
// stream.
func TestListWhileWriting(t *testing.T) {
	t.Parallel()
	const sessions, listings, most = 40, 100, 8 * time.Second
	b := start(t, Options{})
	ctx, cancel := context.WithCancel(deadline(t))
	var writers sync.WaitGroup
	defer writers.Wait()
	defer cancel()
	first := make([]uint64, sessions)
	for i := range first {
		pub, _ := b.SnapshotPub(0, fmt.Sprint("s", i), 0, nil, []byte("0"))
		first[i] = must(t, b, pub)
	}
	for i, rev := range first {
		writers.Go(func() {
			for ctx.Err() == nil {
				pub, _ := b.SnapshotPub(0, fmt.Sprint("s", i), rev, nil, []byte("1"))
				rev = b.PublishWait(ctx, pub).Seq
			}
		})
	}
	for n, start := 0, time.Now(); n < listings && time.Since(start) < most; n++ {
		listed := map[string]bool{}
		_, err := b.ListSnapshots(ctx, 0, func(token string, _ uint64, _ map[string]string, _ time.Time) error {
			listed[token] = true
			return nil
		})
		if err != nil || len(listed) != sessions {
			t.Fatalf("listing %d: got %d sessions, %v, want %d", n, len(listed), err, sessions)
		}
	}
}

// TestListIncomplete checks that a listing that is overtaken in every round states
// that it is not complete.
func TestListIncomplete(t *testing.T) {
	b := start(t, Options{})
	pub, _ := b.SnapshotPub(0, "s", 0, nil, []byte("0"))
	rev := must(t, b, pub)
	n := 0
	complete, err := b.ListSnapshots(deadline(t), 0, func(string, uint64, map[string]string, time.Time) error {
		n++ // the snapshot moves to the end of the stream while it is read
		pub, _ := b.SnapshotPub(0, "s", rev, nil, []byte("1"))
		rev = must(t, b, pub)
		return nil
	})
	if complete || err != nil || n < listRounds {
		t.Errorf("got complete %v, %v after %d snapshots, want at least %d and not complete", complete, err, n, listRounds)
	}
}
