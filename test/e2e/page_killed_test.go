package e2e

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"streamer/test/testkit"
)

// browserKilled kills the server while a page shows a text and calls that stream.
// After the restart the page goes on by itself: no text is doubled, and nothing that
// has ended is shown as going on.
func browserKilled(t *testing.T, web context.Context) {
	dir, address := t.TempDir(), testkit.FreePort(t)
	begin := func() *testkit.Process {
		server := start(t, "serve", "--data-dir", dir, "--http-listen", address, "--nats-listen", "127.0.0.1:0", "--partitions", "1", "--log-level", "warn")
		awaitReady(t, "http://"+address+"/readyz", server)
		return server
	}
	server := begin()
	p := openTab(t, web, "light")
	p.open("http://"+address+"/", "killed")
	p.post("deltas", delta(`{"role":"assistant","content":"One two "}`))
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"ends","arguments":"{\"a\":\"x"}}]}`))
	p.post("deltas", delta(`{"tool_calls":[{"index":1,"id":"call_b","function":{"name":"ends_too","arguments":"{}"}}]}`))
	p.card("ends_too", "building_args", "")

	server.Kill()
	p.wait("the page to be stale", `document.querySelector("#main").dataset.stale === "true"`)
	begin()
	p.post("deltas", delta(`{"content":"three"}`))
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"yz\"}"}}]}`))
	p.post("deltas", finish)
	p.post("results", `{"tool_call_id":"call_a","content":"done"}`)
	p.post("results", `{"tool_call_id":"call_b","content":"done"}`)
	p.card("ends", "completed", `"xyz"`)
	p.card("ends_too", "completed", "done")
	p.wait("the page to be current", `document.querySelector("#main").dataset.stale === "false"`)
	p.wait("the end of the message", `document.querySelectorAll(".text.live").length === 0`)
	if got, want := eval[string](p, `[...document.querySelectorAll(".text")].map((e) => e.textContent).join("|")`), "One two three"; got != want {
		t.Errorf("the page shows the text %q, want %q", got, want)
	}
	if got := eval[int](p, `document.querySelectorAll('.card[data-open="true"], .stop-call:not([hidden])').length`); got != 0 {
		t.Errorf("%d calls are shown as open, want none", got)
	}
	if got, want := p.cards(), "ends completed\nends_too completed\n"; got != want {
		t.Errorf("the page shows\n%swant\n%s", got, want)
	}
}

// awaitReady waits until a server accepts inputs.
func awaitReady(t *testing.T, url string, server *testkit.Process) {
	t.Helper()
	testkit.Until(t, "the server is ready", func() error {
		resp, err := http.Get(url) //nolint:noctx // Until bounds it
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}, &server.Log)
}
