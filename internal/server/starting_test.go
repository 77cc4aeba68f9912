package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"streamer/internal/gateway"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

// TestStarting: while a server starts, /healthz and /readyz are answered, with the reason,
// and afterwards the address is free.
func TestStarting(t *testing.T) {
	c := NewConfig()
	c.HTTPListen, c.Broker.URL = testkit.FreePort(t), "nats://"+testkit.FreePort(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Open(ctx, c, zerolog.Nop())
		ended <- err
	}()
	get := func(path string) (status int, body string, err error) {
		resp, err := http.Get("http://" + c.HTTPListen + path) //nolint:noctx // the server bounds it
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text), err
	}
	testkit.Until(t, "the reason in /readyz", func() error {
		status, body, err := get("/readyz")
		if err == nil && (status != 503 || !strings.Contains(body, "the server is starting: ") || !strings.Contains(body, "nothing answers on")) {
			return &stateError{status, body}
		}
		return err
	})
	if status, body, err := get("/healthz"); status != 200 || err != nil {
		t.Errorf("/healthz: got %d %s, %v", status, body, err)
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("the server started")
	}
	l, err := listen(c.HTTPListen)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

type stateError struct {
	status int
	body   string
}

func (e *stateError) Error() string { return http.StatusText(e.status) + " " + e.body }

// TestStartingIdle: a connection without a request does not delay the start.
func TestStartingIdle(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stop := answerStarting(l, new(gateway.Options), func() error { return nil })
	idle, err := net.Dial("tcp", l.Addr().String()) //nolint:noctx // to this process
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz") //nolint:noctx // the server bounds it
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	began := time.Now()
	if stop(); time.Since(began) > startingTimeout-time.Second {
		t.Errorf("it took %v", time.Since(began))
	}
}
