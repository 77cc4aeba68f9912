package server

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

// TestRoles: a worker and a gateway in processes of their own do together what one
// process does. That of the worker serves health and metrics.
func TestRoles(t *testing.T) {
	nats := brokertest.NewServer(t)
	c := NewConfig()
	c.Broker.URL, c.HTTPListen = nats.URL(), "127.0.0.1:0"
	c.Roles = Roles{Worker: true}
	w := openConfig(t, c)
	run(t, w)
	c.Roles = Roles{Gateway: true}
	g := openConfig(t, c)
	run(t, g)

	if resp := request(t, "POST", g.Page()+"v1/sessions/s/deltas", strings.NewReader(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"}}]}`)); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("the gateway answers %s", resp.Status)
	}
	stream := bufio.NewScanner(request(t, "GET", g.Page()+"v1/sessions/s/events", nil).Body)
	for stream.Scan() && !strings.Contains(stream.Text(), `"type":"message_started"`) {
	}
	if err := stream.Err(); err != nil {
		t.Errorf("no event of the worker: %v", err)
	}
	if w.Page() != "" {
		t.Errorf("the worker names the page %s", w.Page())
	}
	base := "http://" + w.listener.Addr().String()
	testkit.UntilTrue(t, "ready", func() bool { return request(t, "GET", base+"/readyz", nil).StatusCode == http.StatusOK })
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404, "/v1/sessions": 404, "/v1/sessions/s/events": 404} {
		t.Run(path, func(t *testing.T) {
			if resp := request(t, "GET", base+path, nil); resp.StatusCode != want {
				t.Errorf("worker: %s: got %s, want %d", path, resp.Status, want)
			}
		})
	}
	if resp := request(t, "GET", g.Page()+"readyz", nil); resp.StatusCode != 200 {
		t.Errorf("gateway: got %s", resp.Status)
	}
	for base, want := range map[string]string{base + "/": "streamer_partitions_carried 16", g.Page(): "streamer_partitions_carried 0"} {
		text, err := io.ReadAll(request(t, "GET", base+"metrics", nil).Body)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %s in %s", base, err, want, text)
		}
	}
}

// TestNoHTTP: without an address no port is opened, and inputs are folded.
func TestNoHTTP(t *testing.T) {
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", ""
	s := openConfig(t, c)
	run(t, s)
	if s.listener != nil || s.Page() != "" {
		t.Errorf("listens on %s", s.Page())
	}
}

// TestUselessRoles: roles that do nothing are refused.
func TestUselessRoles(t *testing.T) {
	for _, c := range []struct {
		roles       Roles
		url, listen string
		want        string
	}{
		{Roles{}, "", "", "invalid --roles: need worker, gateway or sink"},
		{Roles{Gateway: true}, "", defaultHTTP, "invalid --roles gateway: need --nats-url"},
		{Roles{Gateway: true}, "nats://h", "", "invalid --roles gateway: need --http-listen"},
		{Roles{Worker: true}, "", "", ""},
		{Roles{Worker: true, Gateway: true}, "", "", ""},
	} {
		t.Run(c.url+" "+c.listen+" "+c.want, func(t *testing.T) {
			config := Config{Roles: c.roles, HTTPListen: c.listen}
			config.Broker.URL = c.url
			if got := message(config.check()); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%+v: got %q, want %q", c, got, c.want)
			}
		})
	}
}

// TestPortInUse: a server whose port is taken fails at once.
func TestPortInUse(t *testing.T) {
	taken, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = t.TempDir(), "127.0.0.1:0", taken.Addr().String()
	_, err = Open(t.Context(), c, zerolog.Nop())
	if want := "--http-listen: " + c.HTTPListen + " is in use; "; !strings.HasPrefix(message(err), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
}
