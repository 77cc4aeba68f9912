package broker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/inputs"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// eventually waits until ok, asking the server in between.
func eventually(t *testing.T, b *Broker, what string, ok func() bool) {
	t.Helper()
	for by := time.Now().Add(within); !ok(); {
		if time.Now().After(by) {
			t.Fatalf("%s: never; counts %+v", what, b.Counts())
		}
		_ = b.again.pause(context.Background(), 5*time.Millisecond)
	}
}

// A restart of the server is counted, and nothing that was under way is lost.
func TestCountsOfARestart(t *testing.T) {
	s := newTestServer(t)
	b := start(t, Options{URL: s.url(), Partitions: 1})
	if c := b.Counts(); c != (Counts{}) {
		t.Errorf("at the start: got %+v, want nothing", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	read, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.Inputs(ctx, 0, 1, func(batch []Input, _ uint64, _ bool) error {
			for range batch {
				read <- struct{}{}
			}
			return nil
		})
	}()
	must(t, b, b.InputPub("s", inputs.End, "1", nil, nil))
	<-read
	s.stop()
	eventually(t, b, "disconnected", func() bool { return !b.Connected() })
	if err := b.Ready(deadline(t)); err == nil || !strings.Contains(err.Error(), "not connected to NATS") {
		t.Errorf("ready without a server: got %v", err)
	}
	acks := make(chan Ack, 1)
	b.Publish(b.InputPub("s", inputs.End, "2", nil, nil), acks)
	s.start()
	if a := <-acks; a.Err != nil {
		t.Fatal(a.Err)
	}
	<-read
	if c := b.Counts(); c.Disconnected != 1 || c.Reconnected != 1 || c.Resent == 0 || c.Remade == 0 || c.Denied != 0 {
		t.Errorf("after a restart: got %+v, want one disconnection, one reconnection, publishes resent, consumers made again", c)
	}
	cancel()
	<-ended
}

// A consumer that somebody deletes is made again where it was.
func TestDeletedConsumer(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	fill(t, b, 1, 1, nil)
	n := 0
	err := b.Inputs(deadline(t), 0, 1, func(batch []Input, next uint64, _ bool) error {
		if n += len(batch); n == 2 {
			return errEnough
		}
		if len(batch) == 1 {
			var list struct {
				failure
				Consumers []string `json:"consumers"`
			}
			if err := b.ask(deadline(t), "$JS.API.CONSUMER.NAMES."+streamInputs, map[string]any{}, &list); err != nil {
				return err
			}
			for _, name := range list.Consumers {
				if err := b.ask(deadline(t), apiConsumerDelete+streamInputs+"."+name, nil, &failure{}); err != nil {
					return err
				}
			}
			b.Publish(b.InputPub("s", inputs.End, "more", nil, nil), make(chan Ack, 1))
		}
		return nil
	})
	if !errors.Is(err, errEnough) || b.Counts().Remade == 0 {
		t.Errorf("got %v after %d inputs, counts %+v, want 2 and a consumer made again", err, n, b.Counts())
	}
}

// Without its stream nothing is ready, and an input stream that somebody made
// anew is not taken for the old one: its sequences mean other inputs.
func TestDeletedAndReplacedStream(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	if err := b.ask(deadline(t), "$JS.API.STREAM.DELETE."+streamInputs, nil, &failure{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Ready(deadline(t)); err == nil || !strings.Contains(err.Error(), "stream LLM does not answer: stream not found") {
		t.Errorf("ready without the stream: got %v", err)
	}
	if _, _, err := b.InputBounds(deadline(t)); err == nil || errors.Is(err, ErrReplaced) {
		t.Errorf("bounds of a deleted stream: got %v, want that it is not found", err)
	}
	if _, err := b.makeInputs(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.InputBounds(deadline(t)); !errors.Is(err, ErrReplaced) {
		t.Errorf("bounds of another stream: got %v, want ErrReplaced", err)
	}
	err := b.Inputs(deadline(t), 0, 1, func([]Input, uint64, bool) error { return nil })
	if !errors.Is(err, ErrReplaced) {
		t.Errorf("reading another stream: got %v, want ErrReplaced", err)
	}
}

// Wrong credentials end the start at once; such as become wrong later do not
// end the connection: they may become right again.
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
		t.Errorf("wrong password: told after %v", took)
	}
	var lines atomic.Int64
	b := start(t, Options{URL: strings.Replace(url, "wrong", "right", 1), OnNotice: func(msg string, _ error) {
		if msg == "NATS says" {
			lines.Add(1)
		}
	}})
	login("changed")
	eventually(t, b, "refused four times", func() bool { return b.Counts().Denied >= 4 })
	login("right")
	must(t, b, b.InputPub("s", inputs.End, "1", nil, nil))
	if lines.Load() == 0 || b.Counts().Reconnected != 1 {
		t.Errorf("got %d lines, counts %+v, want some, and one reconnection", lines.Load(), b.Counts())
	}
}
