package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
)

func TestNoticeLimit(t *testing.T) {
	var h noticeLimit
	at := time.Unix(1000, 0)
	for i, c := range []struct {
		after time.Duration
		do    string // or a kind
		want  bool
	}{
		{0, noAnswer, true}, // there is a connection
		{time.Second, noAnswer, false},
		{0, noAck, true},
		{noticeInterval, noAnswer, true},
		{0, "lost", false},
		{0, noConnection, false}, // "disconnected" was noticed
		{0, noAck, false},
		{time.Second, accessRefused, true},
		{time.Second, accessRefused, false},
		{noticeInterval, noConnection, true},
		{time.Second, noConnection, false},
		{noticeInterval, noAck, false},
		{0, "back", false},
		{0, noAck, true},
	} {
		at = at.Add(c.after)
		got := false
		switch c.do {
		case "lost":
			h.connectionLost(at)
		case "back":
			h.connected()
		default:
			got = h.allow(c.do, at)
		}
		if got != c.want {
			t.Errorf("step %d, %s: got %v, want %v", i, c.do, got, c.want)
		}
	}
	noticed := 0
	for i := range 1000 {
		if h.allow(fmt.Sprint(i), at) {
			noticed++
		}
	}
	if noticed >= noticeKinds {
		t.Errorf("of 1000 kinds %d were noticed, want less than %d", noticed, noticeKinds)
	}
}

// lines collects the notices of a broker.
type lines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lines) add(msg string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprint(msg, ": ", err))
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// tries returns the greatest number of tries of a publish in flight.
func tries(b *Broker) (most int) {
	b.pubs.mu.Lock()
	defer b.pubs.mu.Unlock()
	for _, f := range b.pubs.of {
		most = max(most, f.try)
	}
	return most
}

// An outage of the server is two notices, whatever is in flight. It lasts until a publish
// and a request were tried so often that each would be a notice if there was a
// connection.
func TestOutageIsTwoLines(t *testing.T) {
	s := newTestServer(t)
	var log lines
	b := start(t, Options{URL: s.url(), OnNotice: log.add})
	s.stop()
	testkit.UntilTrue(t, "disconnected", func() bool { return !b.Connected() })
	acks := make(chan Ack, 50)
	for i := range cap(acks) {
		b.Publish(input("s", inputs.End, fmt.Sprint(i), nil), acks)
	}
	asked := make(chan error, 5)
	for range cap(asked) {
		go func() { _, err := b.Bounds(deadline(t), StreamInputs); asked <- err }()
	}
	testkit.UntilTrue(t, "tried again and again", func() bool {
		return tries(b) >= noticedTry && b.Counts().Retried > uint64(4*cap(asked))
	})
	s.start()
	for range cap(acks) {
		if a := <-acks; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	for range cap(asked) {
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
	}
	got := log.all()
	if len(got) != 2 || !strings.HasPrefix(got[0], "disconnected from NATS: ") || !strings.HasPrefix(got[1], "reconnected to NATS: ") {
		t.Errorf("got %q, want a line at the loss and one at the return", got)
	}
}

// An error that waiting does not resolve ends the start at once.
func TestHopelessConnections(t *testing.T) {
	t.Parallel()
	plain, secret := newTestServer(t), newTLSServer(t)
	for what, c := range map[string]struct {
		o    Options
		want error
		say  string
	}{
		"an authority nobody trusts": {Options{URL: secret.url()}, nats.ErrTLS, "signed by unknown authority"},
		"no client certificate":      {Options{URL: secret.url(), TLSCA: secret.ca}, nil, "tls"},
		"a server without TLS":       {Options{URL: strings.Replace(plain.url(), "nats:", "tls:", 1)}, nats.ErrSecureConnWanted, ""},
		"no credentials file":        {Options{URL: plain.url(), Creds: "nowhere.creds"}, nil, "nowhere.creds"},
		"every server of a list":     {Options{URL: secret.url() + "," + secret.url()}, nats.ErrTLS, "; " + secret.url() + ": nats: tls error"},
	} {
		t.Run(what, func(t *testing.T) {
			var log lines
			c.o.OnNotice = log.add
			began := time.Now()
			_, err := Open(deadline(t), c.o)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, want %v %s", err, c.want, c.say)
			}
			if took := time.Since(began); took > within*3/4 {
				t.Errorf("the error came after %v", took)
			}
			if got := log.all(); len(got) > 2 {
				t.Errorf("said %q, want a line or two", got)
			}
		})
	}
	var log lines
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Open(soon, Options{URL: "nats://127.0.0.1:1," + secret.url(), OnNotice: log.add})
	if got := log.all(); !errors.Is(err, context.DeadlineExceeded) || len(got) != 1 || !strings.Contains(got[0], "unknown authority") {
		t.Errorf("where one server of two may start later: got %v, notices %q, want that it is waited for, and the error of the other", err, got)
	}
	b, err := Open(deadline(t), Options{URL: secret.url(), TLSCA: secret.ca, TLSCert: secret.cert, TLSKey: secret.key, Partitions: 1})
	if err != nil {
		t.Fatalf("with all that is needed: %v", err)
	}
	b.Close()
}
