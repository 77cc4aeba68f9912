package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

const openingDelta = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`

// ask sends a request to a server, a POST if there is a body, and returns status and answer.
func ask(s *Server, path, body string) (string, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(context.Background(), method, strings.TrimSuffix(s.Page(), "/")+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(text)), err
}

// answers waits until a request is answered with a status and a text.
func answers(t *testing.T, s *Server, path, body, status, text string) {
	t.Helper()
	testkit.Until(t, path+" is answered "+status, func() error {
		got, err := ask(s, path, body)
		if err == nil && (!strings.HasPrefix(got, status) || !strings.Contains(got, text)) {
			err = fmt.Errorf("got %s, want %s with %q", got, status, text)
		}
		return err
	})
}

// TestPause: while paused, sessions that exist go on and no other begins, and the pause ends.
func TestPause(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	run(t, s)
	answers(t, s, "/v1/sessions/old/deltas", openingDelta, "202", "")
	var out strings.Builder
	if open, err := s.Broker.Drain(brokertest.Deadline(t), &out, 0); err != nil || open != 1 {
		t.Errorf("got %d open calls, %v; %s", open, err, out.String())
	}
	answers(t, s, "/v1/sessions/new/deltas", openingDelta, "503", "new sessions are refused")
	answers(t, s, "/readyz", "", "200", "open calls of this process: 1")
	answers(t, s, "/v1/sessions/old/results", `{"tool_call_id":"c","content":1}`, "202", "")
	out.Reset()
	if open, err := s.Broker.Drain(brokertest.Deadline(t), &out, time.Minute); err != nil || open != 0 || !strings.Contains(out.String(), "no call is open") {
		t.Errorf("got %d open calls, %v; %s", open, err, out.String())
	}
	if err := s.Broker.SetPaused(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	answers(t, s, "/v1/sessions/new/deltas", openingDelta, "202", "")
}

// TestFrozen: a process that was frozen while new sessions began to be refused looks before it
// accepts one.
func TestFrozen(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	end := run(t, s)
	answers(t, s, "/v1/sessions/old/deltas", openingDelta, "202", "")
	end() // what looks at times looks no more, as in a process that is frozen
	if err := s.Broker.SetPaused(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	s.pause.seen.Store(&pauseSeen{false, time.Now().Add(-pauseKnown)})
	publish := func(token string) error {
		_, _, err := s.store().Publish(t.Context(), token, inputs.Delta, token+":1", nil, []byte(openingDelta))
		return err
	}
	err := publish("new")
	if refused, ok := errors.AsType[*gateway.NotStoredError](err); !ok || !errors.Is(refused.Why, errPaused) {
		t.Errorf("a new session: got %v, want %v", err, errPaused)
	}
	if err := publish("old"); err != nil {
		t.Errorf("a session that exists: %v", err)
	}
}

// draining returns a server that is to end and has an open call, and its end.
func draining(t *testing.T) (s *Server, ended <-chan error) {
	t.Helper()
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen, c.Drain = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0", 2*time.Minute
	s = openConfig(t, c)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, io.Discard, "text") }()
	answers(t, s, "/v1/sessions/old/deltas", openingDelta, "202", "")
	testkit.Until(t, "the call is open", func() error {
		if s.Worker.Stats().Open == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	end()
	answers(t, s, "/readyz", "", "503", "the server ends when no call is open")
	return s, done
}

// TestDrain: a server that ends waits for its open calls, and accepts their
// results.
func TestDrain(t *testing.T) {
	s, ended := draining(t)
	answers(t, s, "/v1/sessions/new/deltas", openingDelta, "503", "new sessions are refused")
	answers(t, s, "/v1/sessions/old/results", `{"tool_call_id":"c","content":1}`, "202", "")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDrainAgain: another signal ends a server that waits for its open calls.
func TestDrainAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself")
	}
	_, ended := draining(t)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the server waits for the call")
	}
}

// TestOverload: deltas of a partition that is far behind are refused, and results are stored.
func TestOverload(t *testing.T) {
	s := open(t, t.TempDir())
	run(t, s)
	answers(t, s, "/v1/sessions/old/deltas", openingDelta, "202", "")
	st := s.store()
	st.overload = func(int) time.Duration { return 45 * time.Second }
	_, _, err := st.Publish(t.Context(), "old", inputs.Delta, "m1", nil, []byte(openingDelta))
	if refused, ok := errors.AsType[*gateway.NotStoredError](err); !ok || !refused.Busy || !strings.Contains(err.Error(), "the worker is 45s behind") {
		t.Errorf("a delta: got %v, want a refusal", err)
	}
	if _, _, err := st.Publish(t.Context(), "old", inputs.Result, "m2", nil, []byte(`{"tool_call_id":"c","content":1}`)); err != nil {
		t.Errorf("a result: %v", err)
	}
}
