package natsserver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
)

// A server that cannot write is replaced by another one on the same directory and
// address. Stored messages remain, messages in flight are stored, clients reconnect,
// and the directory stays locked.
func TestServerIsReplaced(t *testing.T) {
	dir := t.TempDir()
	b, s := start(t, Config{DataDir: dir, Listen: "127.0.0.1:0"})
	url, server := b.OwnURL(), s.running.Load()
	nc, err := nats.Connect(url, nats.ReconnectWait(10), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	must(t, b, "1")
	epoch := b.Epoch()

	s.onWriteError()(errors.New("no space left on device"))
	if err := b.Ready(deadline(t)); err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want the write error and the directory", err)
	}
	testkit.UntilTrue(t, "another server", func() bool { return b.Counts().Reconnected > 0 && b.Ready(deadline(t)) == nil })
	if _, err := Start(Config{DataDir: dir}, ignore); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("another process: got %v, want that the directory is in use", err)
	}
	if now := s.running.Load(); now == server || server.Running() {
		t.Errorf("got the same server: %v, the first runs: %v", now == server, server.Running())
	}
	if b.OwnURL() != url || b.Epoch() == epoch || b.Counts().Restarted != 1 {
		t.Errorf("got %d restarts, same address %v, same epoch %v", b.Counts().Restarted, b.OwnURL() == url, b.Epoch() == epoch)
	}
	if seq := must(t, b, "2"); seq != 2 {
		t.Errorf("the next input: got sequence %d, want 2", seq)
	}
	testkit.UntilTrue(t, "the client is back", nc.IsConnected)
}

// Errors of a server that has ended are not those of its successor.
func TestWriteErrorOfAnEndedServer(t *testing.T) {
	r := &Server{dir: t.TempDir(), notice: ignore, wake: make(chan struct{}, 1)}
	late := r.onWriteError()
	r.stop()
	late(errors.New("late"))
	if err := r.Problem(); err != nil {
		t.Errorf("got %v, want none", err)
	}
	r.onWriteError()(errors.New("no space"))
	if r.Problem() == nil {
		t.Error("got no problem, want the write error")
	}
}

// A server that does not start again is tried again, and nothing runs meanwhile.
func TestServerDoesNotStartAgain(t *testing.T) {
	b, s := start(t, Config{})
	launch, tries := s.launch, 0
	s.mu.Lock() // the watcher locks it before it reads launch
	s.launch = func() error {
		if tries++; tries < 2 {
			return errors.New("not yet")
		}
		return launch()
	}
	s.mu.Unlock()
	s.onWriteError()(errors.New("no space left on device"))
	testkit.UntilTrue(t, "the reason", func() bool {
		err := b.Ready(deadline(t))
		return err != nil && strings.Contains(err.Error(), "not yet")
	})
	testkit.UntilTrue(t, "another server", func() bool { return b.Ready(deadline(t)) == nil && b.Connected() })
	if n := b.Counts().Restarted; n != 2 {
		t.Errorf("got %d restarts, want 2", n)
	}
}

func TestShareOfTheDisk(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct{ used, free, want int64 }{
		{0, 100 * gib, 75 * gib},
		{40 * gib, 60 * gib, 75 * gib}, // the same at the next start
		{90 * gib, 10 * gib, 95 * gib}, // other programs used the free space
		{90 * gib, 0, 90 * gib},
		{0, 20 << 20, 15 << 20}, // not more than is free
		{0, 0, 1},
	} {
		t.Run(fmt.Sprint(c.used, " ", c.free), func(t *testing.T) {
			if got := shareOf(c.used, c.free); got != c.want {
				t.Errorf("%d used and %d free: got %d, want %d", c.used, c.free, got, c.want)
			}
		})
	}
}
