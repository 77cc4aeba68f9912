package broker

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Without its stream the broker is not ready. An input stream that was created again is
// not the earlier one: its sequences are those of other inputs.
func TestDeletedAndReplacedStream(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	if err := b.ask(deadline(t), "$JS.API.STREAM.DELETE."+StreamInputs, nil, &failure{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Ready(deadline(t)); err == nil || !strings.Contains(err.Error(), "stream LLM does not answer: stream not found") {
		t.Errorf("ready without the stream: got %v", err)
	}
	if _, err := b.Bounds(deadline(t), StreamInputs); err == nil || errors.Is(err, ErrReplaced) {
		t.Errorf("bounds of a deleted stream: got %v, want that it is not found", err)
	}
	if _, err := b.makeInputs(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Bounds(deadline(t), StreamInputs); !errors.Is(err, ErrReplaced) {
		t.Errorf("bounds of another stream: got %v, want ErrReplaced", err)
	}
}

// Wrong credentials end the start at once. Credentials that become wrong later do not
// close the connection: they may be restored.
func TestCredentials(t *testing.T) {
	s := newTestServer(t)
	login := func(password string) {
		s.stop()
		s.opts.Users = []*server.User{{Username: "us", Password: password}}
		s.start()
	}
	login("right")
	began := time.Now()
	url := strings.Replace(s.url(), "nats://", "nats://us:wrong@", 1)
	if _, err := Open(deadline(t), Options{URL: url}); !errors.Is(err, nats.ErrAuthorization) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("wrong password: got %v, want that it is refused, without the password", err)
	}
	if took := time.Since(began); took > within/2 {
		t.Errorf("wrong password: the error came after %v", took)
	}
	var lines atomic.Int64
	b := start(t, Options{URL: strings.Replace(url, "wrong", "right", 1), OnNotice: func(msg string, _ error) {
		if msg == "NATS says" {
			lines.Add(1)
		}
	}})
	login("changed")
	testkit.UntilTrue(t, "refused four times", func() bool { return b.Counts().Denied >= 4 })
	login("right")
	must(t, b, input("s", inputs.End, "1", nil))
	if lines.Load() == 0 || b.Counts().Reconnected != 1 {
		t.Errorf("got %d lines, counts %+v, want some, and one reconnection", lines.Load(), b.Counts())
	}
}

// A consumer that a cluster places on a server that was just killed is not created before
// that server is back. Its reader creates another.
func TestConsumerThatDoesNotBegin(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	b := start(t, Options{URL: s.url()})
	b.replicated = true
	must(t, b, input("s", inputs.End, "1", nil))
	account, err := s.LookupAccount("$G")
	if err != nil {
		t.Fatal(err)
	}
	all := apiConsumerCreate + StreamInputs + "."
	var once sync.Once
	_, err = b.nc.Subscribe("placed.*", func(m *nats.Msg) { // this name stays unanswered, others do not
		once.Do(func() {
			account.RemoveMapping(all + "*")
			if err := account.AddMapping(all+strings.TrimPrefix(m.Subject, "placed."), m.Subject); err != nil {
				t.Error(err)
			}
		})
	})
	if err = cmp.Or(err, account.AddMapping(all+"*", "placed.$1")); err != nil {
		t.Fatal(err)
	}
	err = b.Read(deadline(t), Reading{Stream: StreamInputs, Deliver: func(batch []Message, _ uint64) error {
		if len(batch) > 0 {
			return errEnough
		}
		return nil
	}}, 1)
	if !errors.Is(err, errEnough) || b.Counts().Remade != 1 {
		t.Errorf("got %v and %d new consumers, want the input from one", err, b.Counts().Remade)
	}
}

// What is stored of a partition is known from the worker that carries it; without one, it
// is not known.
func TestStoredTo(t *testing.T) {
	s := newTestServer(t)
	asks := start(t, Options{URL: s.url(), Partitions: 2})
	want := func(p int, seq uint64) {
		t.Helper()
		if got, err := asks.StoredTo(deadline(t), p); got != seq || err != nil {
			t.Errorf("partition %d: got %d, %v, want %d", p, got, err, seq)
		}
	}
	want(0, 0)
	for carried := range 2 {
		b := start(t, Options{URL: s.url(), Partitions: 2})
		err := b.ServeStored(func(p int) uint64 {
			if p == carried {
				return uint64(10 + p)
			}
			return 0
		})
		if err = cmp.Or(err, b.Flush(deadline(t))); err != nil { // the server knows of it
			t.Fatal(err)
		}
	}
	want(0, 10)
	want(1, 11)
}

// A message that another deleted is no reason to try again.
func TestDeletedTwice(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	seq := must(t, b, input("s", inputs.Delta, "1", nil))
	for range 2 {
		if err := b.DeleteMessage(deadline(t), StreamInputs, seq); err != nil {
			t.Error(err)
		}
	}
}
