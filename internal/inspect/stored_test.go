package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/server"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

// serving runs a server without HTTP until the end of the test.
func serving(t *testing.T) *client.Broker {
	t.Helper()
	return servingWith(t, func(*server.Config) {}).Broker
}

// servingWith is serving with a changed configuration.
func servingWith(t *testing.T, change func(*server.Config)) *server.Server {
	t.Helper()
	c := server.NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", ""
	change(&c)
	s, err := server.Open(t.Context(), c, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Services = append(s.Services, Service(s))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-s.Opened():
	case <-time.After(brokertest.Within):
		t.Fatal("the server does not accept inputs")
	}
	return s
}

// begin publishes a call of tool f, with args of size bytes.
func begin(t *testing.T, b *client.Broker, session string, size int) {
	t.Helper()
	args, err := json.Marshal(fmt.Sprintf("{%q:%q}", "x", strings.Repeat("a", size)))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, b, session, inputs.Delta, fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"f\u001b[2J","arguments":%s}}]},"finish_reason":"tool_calls"}]}`, args))
}

func publish(t *testing.T, b *client.Broker, session string, kind inputs.Kind, data string) {
	t.Helper()
	token, err := events.Token(session)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Append(brokertest.Deadline(t), token, kind, "", nil, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

// await waits for an event of a type of a session.
func await(t *testing.T, b *client.Broker, session string, typ events.Type) {
	t.Helper()
	token, err := events.Token(session)
	if err != nil {
		t.Fatal(err)
	}
	found := errors.New("found")
	err = b.Tail(brokertest.Deadline(t), token, 0, func(r events.Record, _ bool) error {
		if r.Type == typ {
			return found
		}
		return nil
	}, nil)
	if !errors.Is(err, found) {
		t.Fatalf("no %s of %s: %v", typ, session, err)
	}
}

// TestStored checks what the commands print about stored sessions.
func TestStored(t *testing.T) {
	t.Parallel()
	b := serving(t)
	const large = 100_000
	begin(t, b, "a b", large)
	publish(t, b, "a b", inputs.Result, `{"tool_call_id":"call_a","content":"found"}`)
	await(t, b, "a b", events.ToolCallResult)
	now := time.Now()
	for _, c := range []struct {
		name  string
		write func(o Output) error
		json  bool
		want  []string
		not   []string
	}{
		{
			"calls", func(o Output) error { return WriteCalls(t.Context(), b, o, "a b", now) }, false,
			[]string{"CALL", "f?[2J", "completed", "call_a"},
			[]string{"\x1b"},
		},
		{
			"calls in JSON", func(o Output) error { return WriteCalls(t.Context(), b, o, "a b", now) }, true,
			[]string{`{"session":"a b","call":"`, `"status":"completed"`, `"ended":"`},
			nil,
		},
		{
			"events", func(o Output) error { return WriteEvents(t.Context(), b, o, "a b", nil) }, false,
			[]string{"tool_call_start", "tool_call_args_complete", "tool_call_result", "run_started"},
			[]string{"\x1b"},
		},
		{
			"events of a type", func(o Output) error { return WriteEvents(t.Context(), b, o, "a b", []string{"tool_call_result"}) }, true,
			[]string{`"type":"tool_call_result"`},
			[]string{"tool_call_start"},
		},
		{"an export", func(o Output) error { return export(t, b, o, false) }, false, []string{`"args_ref"`, `"type":"tool_call_result"`}, []string{"tool_call_id\":\"call_a\",\"content"}},
		{"an export with values", func(o Output) error { return export(t, b, o, true) }, false, []string{strings.Repeat("a", large)}, []string{"args_ref"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := c.write(Output{W: &out, JSON: c.json}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			check(t, c.name, out.String(), c.want, c.not)
		})
	}
	missing, ok := errors.AsType[*NoEventsError](WriteCalls(t.Context(), b, Output{W: new(strings.Builder)}, "other", now))
	if !ok || missing.Session != "other" {
		t.Errorf("a session without events: got %v", missing)
	}
	exportedFile(t, b)
	listed(t, b)
}

// exportedFile checks that an export replaces a file, and that one without events
// changes none.
func exportedFile(t *testing.T, b *client.Broker) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ session, want string }{{"other", "kept"}, {"a b", `{"type":"run_started"`}} {
		var errs strings.Builder
		err := ExportFile(t.Context(), b, name, c.session, false, &errs)
		got, readErr := os.ReadFile(name)
		if readErr != nil || (err == nil) != strings.Contains(errs.String(), " events of session a b are in "+name) || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("export of session %s: %q, %v; the file begins with %.40q, want %q (%v)", c.session, &errs, err, got, c.want, readErr)
		}
	}
}

func export(t *testing.T, b *client.Broker, o Output, values bool) error {
	t.Helper()
	n, err := Export(t.Context(), b, o.W, "a b", values, nil)
	if n < 4 {
		t.Errorf("exported %d events", n)
	}
	return err
}

// listed waits until the session has a snapshot and is listed.
func listed(t *testing.T, b *client.Broker) {
	t.Helper()
	ctx := brokertest.Deadline(t)
	var text strings.Builder
	testkit.Until(t, "the session is listed", func() error {
		var lines strings.Builder
		text.Reset()
		if err := errors.Join(Sessions(ctx, b, Output{W: &lines, JSON: true}, 10, time.Now()), Sessions(ctx, b, Output{W: &text}, 10, time.Now())); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(lines.String(), `"session":"a b"`) {
			return fmt.Errorf("got %s", &lines)
		}
		return nil
	})
	check(t, "sessions", text.String(), []string{"SESSION", "a b  "}, nil)
}

func check(t *testing.T, name, got string, want, not []string) {
	t.Helper()
	short := got[:min(len(got), 2000)]
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: want %.80q in %s", name, w, short)
		}
	}
	for _, n := range not {
		if strings.Contains(got, n) {
			t.Errorf("%s: want no %.80q in %s", name, n, short)
		}
	}
}

// TestEventLine checks that a line names what the event is about, and its whole reason.
func TestEventLine(t *testing.T) {
	long := strings.Repeat("reason ", 20) + "end"
	for _, c := range []struct {
		body string
		want string
	}{
		{`{"type":"orphan_result","id":"call_9","status":"completed"}`, "call_9  completed"},
		{`{"type":"rejected","input":20,"reason":{"code":"bad_json","text":"` + long + `"}}`, "input 20  bad_json: " + long},
		{`{"type":"unmatched","kind":"interrupt","input":23,"target":{"tool_call_ids":["call_9"],"calls":["18.0"],"run":"17.0"}}`, "input 23: interrupt of call_9, 18.0, 17.0"},
		{`{"type":"interrupted","input":24,"closed":2,"calls":["18.0","19.0"],"target":{"tool_call_ids":["call_9"]}}`, "input 24 closed 2 calls: 18.0, 19.0"},
		{`{"type":"interrupted","input":25,"closed":0}`, "input 25 closed 0 calls"},
	} {
		t.Run(fmt.Sprintf("%.60s", c.body), func(t *testing.T) {
			var e events.Event
			if err := json.Unmarshal([]byte(c.body), &e); err != nil {
				t.Fatal(err)
			}
			if got := eventLine(cli.Paint{}, "1", &e); !strings.HasSuffix(got, string(e.Type)+"  "+c.want) {
				t.Errorf("%s: got the line %q, want %q at its end", c.body, got, c.want)
			}
		})
	}
}
