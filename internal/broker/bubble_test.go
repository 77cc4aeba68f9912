package broker

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"streamer/test/testkit"
)

// All servers of a process share one ticker, which exists while one of them has a
// stream on disk. It must not be created inside a bubble.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		panic(err)
	}
	b, err := Open(context.Background(), Options{Embed: embed(dir, "")})
	if err != nil {
		panic(err)
	}
	testkit.AtOnce(8) // they wait more than they compute
	code := m.Run()
	b.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

// inBubble runs a test in fake time against a real embedded server.
func inBubble(t *testing.T, opts Options, test func(t *testing.T, b *Broker)) {
	opts.Embed = embed(t.TempDir(), "")
	opts.Storage = "memory" // on disk, hours of fake time would be thousands of syncs
	synctest.Test(t, func(t *testing.T) {
		b, err := Open(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		test(t, b)
	})
}

// A snapshot expires after SnapshotAge, to the second.
func TestSnapshotAge(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{SnapshotAge: 5 * time.Hour}, func(t *testing.T, b *Broker) {
		pub, _ := b.SnapshotPub(0, "s", 0, nil, []byte("x"))
		must(t, b, pub)
		for _, c := range []struct {
			wait time.Duration
			want bool
		}{{5*time.Hour - time.Minute, true}, {2 * time.Minute, false}} {
			time.Sleep(c.wait) // of the bubble
			if _, ok, err := b.LoadSnapshot(context.Background(), 0, "s"); ok != c.want || err != nil {
				t.Errorf("after another %v: got %v, %v, want %v", c.wait, ok, err, c.want)
			}
		}
	})
}

// A worker is a member until its last heartbeat expires, or until it leaves.
func TestMembers(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *Broker) {
		ctx := context.Background()
		step := func(want string, do func() error) {
			t.Helper()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Members(ctx); err != nil || fmt.Sprint(got) != want {
				t.Errorf("got %v, %v, want %s", got, err, want)
			}
		}
		beat := func(id string) func() error { return func() error { return b.Beat(ctx, id, 3*time.Second) } }
		step("[]", func() error { return nil })
		step("[w2]", beat("w2"))
		step("[w1 w2]", beat("w1"))
		time.Sleep(2 * time.Second) // of the bubble
		step("[w1 w2]", beat("w1"))
		time.Sleep(2 * time.Second)
		step("[w1]", func() error { return nil })
		step("[w1 w3]", beat("w3"))
		step("[w3]", func() error { return b.Leave(ctx, "w1") })
	})
}
