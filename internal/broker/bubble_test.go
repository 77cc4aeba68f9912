package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/inputs"
)

// All servers of a process share one ticker, which lives as long as one of them
// has a stream on disk: it must not be born inside a bubble.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		panic(err)
	}
	b, err := Open(context.Background(), Options{DataDir: dir})
	if err != nil {
		panic(err)
	}
	code := m.Run()
	b.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

// inBubble runs a test in fake time against a real embedded server.
func inBubble(t *testing.T, opts Options, test func(t *testing.T, b *Broker)) {
	opts.DataDir = t.TempDir()
	opts.Storage = "memory" // or hours of fake time would be thousands of syncs of a real disk
	synctest.Test(t, func(t *testing.T) {
		b, err := Open(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		test(t, b)
	})
}

// A live reader of an idle partition learns how far the others have come.
func TestLivePositionOfAnIdlePartition(t *testing.T) {
	inBubble(t, Options{Partitions: 2}, func(t *testing.T, b *Broker) {
		idle := 1 - b.Partition("s0")
		var positions []uint64
		err := b.Inputs(context.Background(), idle, 1, func(batch []Input, next uint64, caughtUp bool) error {
			positions = append(positions, next)
			switch {
			case len(batch) > 0 || !caughtUp:
				t.Errorf("got %d inputs, caught up %v", len(batch), caughtUp)
			case next == 1:
				fill(t, b, 10, 1, nil)
			case next == 11:
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || len(positions) != 2 {
			t.Errorf("positions %v, %v, want 1, then 11", positions, err)
		}
	})
}

// An hour of silence does not disturb a reader.
func TestLongSilence(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *Broker) {
		p := b.Partition("s")
		var at time.Time
		began := time.Now()
		timer := time.AfterFunc(time.Hour, func() { b.Publish(b.InputPub("s", inputs.End, "1", nil, nil), make(chan Ack, 1)) })
		defer timer.Stop()
		err := b.Inputs(context.Background(), p, 1, func(batch []Input, _ uint64, _ bool) error {
			if len(batch) == 0 {
				return nil
			}
			at = batch[0].At
			return errEnough
		})
		if !errors.Is(err, errEnough) || at.Sub(began) < time.Hour || at.Sub(began) > time.Hour+time.Second {
			t.Errorf("got %v after %v, want an hour", err, at.Sub(began))
		}
	})
}

// A state lives as long as StateAge says, to the second.
func TestStateAge(t *testing.T) {
	inBubble(t, Options{StateAge: 5 * time.Hour}, func(t *testing.T, b *Broker) {
		pub, _ := b.SavePub(0, "s", 0, nil, []byte("x"))
		must(t, b, pub)
		for _, c := range []struct {
			wait time.Duration
			want bool
		}{{5*time.Hour - time.Minute, true}, {2 * time.Minute, false}} {
			time.Sleep(c.wait) // of the bubble
			if _, ok, err := b.LoadState(context.Background(), 0, "s"); ok != c.want || err != nil {
				t.Errorf("after another %v: got %v, %v, want %v", c.wait, ok, err, c.want)
			}
		}
	})
}

// Who beats is there; who stops is not, when its time is over; who leaves is
// not at once.
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
