package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"streamer/test/local"
	"streamer/test/testkit"

	"github.com/chromedp/chromedp"
)

// browserShares opens seven pages of four sessions in one browser, which allows six
// connections to a server. All are live on one stream, and remain so when the
// first page, which reads it, is closed.
func browserShares(t *testing.T, web context.Context) {
	s, _ := local.Serve(t, local.Config(t.TempDir()))
	pages := make([]*webPage, 7)
	closeFirst := context.CancelFunc(nil)
	for i := range pages {
		tab, cancel := context.WithCancel(web)
		t.Cleanup(cancel)
		if i == 0 {
			closeFirst = cancel
		}
		pages[i] = openTab(t, tab, "light")
		pages[i].open(s.Page(), fmt.Sprintf("pages-%d", i%4))
	}
	for _, p := range pages {
		p.wait("the mark of a shared stream", `document.querySelector("#pill").dataset.shared === "true"`)
	}
	testkit.Until(t, "one stream of all pages", func() error { // the one before may still be closed
		if got := openStreams(t, s.Page()); got != "1" {
			return fmt.Errorf("%d pages have %s streams", len(pages), got)
		}
		return nil
	})
	for _, p := range pages[:4] {
		p.post("deltas", delta(`{"tool_calls":[{"index":0,"id":"call_w","function":{"name":"get_weather","arguments":"{\"city\":\"Os"}}]}`))
	}
	for _, p := range pages {
		p.card("get_weather", "building_args", `"Os`)
	}
	pages[3].screenshot("pages")

	closeFirst()
	pages[1].wait("the first page to be gone", `document.querySelector("#pill-text").title.includes(" 6 pages")`)
	for _, p := range pages[1:5] {
		p.post("deltas", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"lo\"}"}}]},"finish_reason":"tool_calls"`))
	}
	for _, p := range pages[1:] {
		p.card("get_weather", "args_complete", `"Oslo"`)
		if got, want := p.cards(), "get_weather args_complete\n"; got != want {
			t.Errorf("%s shows\n%swant\n%s", p.url, got, want)
		}
		if got := p.console(); len(got) > 0 {
			t.Errorf("got %q on the console, want nothing", got)
		}
	}
}

// openStreams returns the number of open event streams from the metrics.
func openStreams(t *testing.T, home string) string {
	t.Helper()
	resp, err := http.Get(home + "metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	const name = "\nstreamer_sse_clients "
	_, rest, found := strings.Cut(string(text), name)
	if !found {
		t.Fatalf("no metric %q", name)
	}
	number, _, _ := strings.Cut(rest, "\n")
	return number
}

// browserEventSource reads the stream with the EventSource of the browser, and
// resumes it after a restart of the server.
func browserEventSource(t *testing.T, web context.Context) {
	c := local.Config(t.TempDir())
	c.HTTPListen = testkit.FreePort(t)
	s, stop := local.Serve(t, c)
	p := openTab(t, web, "light")
	p.open(s.Page(), "source")
	p.do("open the numbers", chromedp.Click(chromedp.CSS("#numbers summary")))
	p.do("read with EventSource", chromedp.Click(chromedp.CSS("#reader")))
	p.wait("the switch", `document.querySelector("#reader").dataset.native === "true"`)
	p.do("reload", chromedp.Reload())
	p.wait("a live stream", `document.querySelector("#pill").dataset.connection === "live"`)
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"id":"call_w","function":{"name":"get_weather","arguments":"{\"city\":\"Os"}}]}`))
	p.card("get_weather", "building_args", `"Os`)

	stop()
	p.wait("the page to be stale", `document.querySelector("#main").dataset.stale === "true"`)
	local.Serve(t, c)
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"lo\"}"}}]},"finish_reason":"tool_calls"`))
	p.card("get_weather", "args_complete", `"Oslo"`)
	p.wait("the page to be current", `document.querySelector("#main").dataset.stale === "false"`)
	p.do("open the numbers again", chromedp.Click(chromedp.CSS("#numbers summary")))
	p.wait("the numbers", `document.querySelector("#numbers-text").textContent.includes(" 0 duplicates")`)
}
