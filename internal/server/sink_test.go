package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// TestSink: the events of a call reach a webhook.
func TestSink(t *testing.T) {
	var bodies atomic.Value
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			before, _ := bodies.Load().(string)
			bodies.Store(before + string(body))
		}
	}))
	defer hook.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of some length\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	c.Sink = SinkFlags{SinkURL: hook.URL, SinkSecretFile: secret, SinkTypes: []string{"tool_call_start", "tool_call_result"}, SinkSession: []string{"chat-*"}}
	s := openConfig(t, c)
	run(t, s)
	for _, session := range []string{"chat-1", "other"} {
		for i, in := range []string{
			`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"tool_call_id":"c","content":"x"}`,
		} {
			kind := []inputs.Kind{inputs.Delta, inputs.Result}[i]
			if _, _, err := s.Broker.Append(brokertest.Deadline(t), session, kind, fmt.Sprint(session, i), nil, []byte(in)); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.Until(t, "the result", func() error {
		text, _ := bodies.Load().(string)
		if !strings.Contains(text, `"tool_call_result"`) {
			return fmt.Errorf("got %s", text)
		}
		if strings.Contains(text, "run_started") || strings.Contains(text, `"other"`) {
			t.Errorf("got %s", text)
		}
		return nil
	})
}

// TestSinkFlags: what cannot work is refused, with the flag.
func TestSinkFlags(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags SinkFlags
		want  string
	}{
		{"no such type", SinkFlags{SinkTypes: []string{"tool_call"}}, `--sink-types: there is no event type "tool_call"`},
		{"no such file", SinkFlags{SinkSecretFile: "/nowhere/secret"}, "--sink-secret-file: open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.flags.options(); !strings.HasPrefix(message(err), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	only := Config{Roles: Roles{Sink: true}}
	if err := only.check(); message(err) != "invalid --roles sink: need --sink-url" {
		t.Errorf("got %v", err)
	}
}
