package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/server"
	"streamer/test/local"
	"streamer/test/testkit"

	"github.com/chromedp/chromedp"
)

// widths of the window of a computer, and of a phone.
var widths = []int64{1400, 390}

// TestPageNumbers plays the sessions of the demo, and checks the numbers that the page promises.
func TestPageNumbers(t *testing.T) {
	testkit.Campaign(t)
	web := chromium(t)
	s, _ := local.Serve(t, local.Config(t.TempDir()))
	t.Run("weight", func(t *testing.T) { pageWeight(t, web, s) })
	t.Run("nodes", func(t *testing.T) { pageNodes(t, web, s.Page()) })
	t.Run("phone", func(t *testing.T) { pagePhone(t, web, s.Page()) })
	files, err := filepath.Glob("../../internal/demo/sessions/*.jsonl")
	if err != nil || len(files) != 6 {
		t.Fatalf("found the sessions %q of the demo, %v", files, err)
	}
	if testkit.Race {
		files = files[:1] // it plays for 20 s at each width
	}
	for _, file := range files {
		for _, width := range widths {
			name := fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(file), ".jsonl"), width)
			t.Run(name, func(t *testing.T) { pageShift(t, web, s, file, name, width) })
		}
	}
}

// pageShift: while a session is played, what is on the page stays where it is.
func pageShift(t *testing.T, web context.Context, s *server.Server, file, name string, width int64) {
	const speed = 1
	most := 0.1
	if testkit.Race {
		most = 0.4 // events that are late come together, and move more
	}
	p := openTab(t, web, "light")
	p.do("the size of the window", chromedp.EmulateViewport(width, 900))
	p.open(s.Page(), name)
	eval[bool](p, `(window.shifts = [], new PerformanceObserver((l) => {
		for (const e of l.getEntries()) if (!e.hadRecentInput) shifts.push({ value: e.value, at: e.startTime, what: e.sources.map((s) => (s.node?.id || s.node?.className || s.node?.nodeName) + " " + s.previousRect.top + ">" + s.currentRect.top).join(", ") });
	}).observe({ type: "layout-shift", buffered: true }), true)`)
	p.play(s, file, name, speed)
	p.wait("the end of all calls", `document.querySelectorAll(".card").length > 1 && document.querySelectorAll('.card[data-open="true"]').length <= `+map[bool]string{true: "1", false: "0"}[strings.HasPrefix(name, "night")])
	p.screenshot(name)
	// The cumulative layout shift is the largest sum of a burst: less than 1 s between two shifts, and 5 s long at most.
	sum := eval[float64](p, `(() => {
		let most = 0, sum = 0, first = -Infinity, last = -Infinity;
		for (const { value, at } of shifts) {
			if (at - last > 1000 || at - first > 5000) sum = 0, first = at;
			sum += value, last = at, most = Math.max(most, sum);
		}
		return most;
	})()`)
	t.Logf("%s: the layout shifts by %.3f, in all by %.3f", name, sum, eval[float64](p, `shifts.reduce((sum, s) => sum + s.value, 0)`))
	if sum >= most {
		t.Errorf("%s: the layout shifts by %.3f, want less than %.1f; most by\n%s", name, sum, most,
			eval[string](p, `shifts.sort((a, b) => b.value - a.value).slice(0, 8).map((s) => s.value.toFixed(3) + " at " + Math.round(s.at) + ": " + s.what).join("\n")`))
	}
}

// play publishes a recorded session.
func (p *webPage) play(s *server.Server, file, session string, speed time.Duration) {
	p.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := events.Token(session)
	if err != nil {
		p.t.Fatal(err)
	}
	r := client.Replayer{Broker: s.Broker, Token: token, Speed: speed}
	n := 0
	for line := range bytes.Lines(data) {
		in, ok := client.ParseRecorded(line)
		if !ok {
			p.t.Fatalf("%s: not a recorded input: %s", file, line)
		}
		n++
		if err := r.Recorded(p.ctx, in, n); err != nil {
			p.t.Fatalf("%s, line %d: %v", file, n, err)
		}
	}
}

// pageWeight: a session with calls takes few requests and bytes, with their headers.
func pageWeight(t *testing.T, web context.Context, s *server.Server) {
	const mostRequests, mostBytes = 12, 61_000
	target, err := url.Parse(s.Page())
	if err != nil {
		t.Fatal(err)
	}
	var requests, sent atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		requests.Add(1)
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	front := httptest.NewUnstartedServer(proxy)
	front.Listener = countedListener{front.Listener, &sent}
	front.Start()
	defer front.Close()
	p := openTab(t, web, "light")
	p.open(s.Page(), "weight")
	p.watch()

	q := openTab(t, web, "light")
	q.open(front.URL+"/", "weight")
	q.wait("the calls", `document.querySelectorAll(".card").length === 5 && document.querySelectorAll(".wf-row").length === 5`)
	t.Logf("a session with calls takes %d requests and %d bytes", requests.Load(), sent.Load())
	if requests.Load() > mostRequests || sent.Load() > mostBytes {
		t.Errorf("a session with calls takes %d requests and %d bytes, want at most %d and %d", requests.Load(), sent.Load(), mostRequests, mostBytes)
	}
	front.CloseClientConnections() // the stream
}

// targets are the options of axe-core with the rule that a target has 24 px, too.
const targets = `{resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}`

// pageNodes: 300 calls that have ended take few elements, and the one that is chosen shows all
// of it.
func pageNodes(t *testing.T, web context.Context, home string) {
	const most = 6_000
	p := openTab(t, web, "light")
	p.open(home, "nodes")
	for m := range 30 {
		var deltas, results []string
		for i := range 10 {
			id := fmt.Sprintf("c_%d_%d", m, i)
			call := fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":"read_page","arguments":"{\"url\":\"https://example.com/%s\",\"limit\":%d}"}}]}`, i, id, id, i)
			deltas = append(deltas, strings.Replace(delta(call), "msg_1", fmt.Sprintf("msg_%d", m), 1))
			results = append(results, fmt.Sprintf(`{"tool_call_id":%q,"content":"{\"title\":\"Page %s\",\"words\":[1,2,3]}"}`, id, id))
		}
		p.post("deltas", "["+strings.Join(append(deltas, strings.Replace(finish, "msg_1", fmt.Sprintf("msg_%d", m), 1)), ",")+"]")
		p.post("results", "["+strings.Join(results, ",")+"]")
	}
	p.wait("300 ended calls", `document.querySelectorAll('.card[data-state="completed"][data-folded="true"]').length === 300`)
	n := eval[int](p, `document.querySelectorAll("*").length`)
	t.Logf("300 calls take %d elements", n)
	if n > most {
		t.Errorf("300 calls take %d elements, want at most %d", n, most)
	}
	p.screenshot("nodes")
	p.wait("the newest in sight, as the page follows it", `((s) => s.scrollHeight - s.clientHeight - s.scrollTop < 2)(document.querySelector("#scroll"))`)
	p.do("choose a call", chromedp.Click(chromedp.CSS(".message:last-of-type .card")))
	p.wait("its args", `document.activeElement.matches('.card[data-chosen="true"]') && document.activeElement.textContent.includes("limit")`)
	p.wait("its row", `document.querySelector('.wf-row[aria-selected="true"]')?.dataset.key === document.activeElement.dataset.call`)
	p.screenshot("nodes-chosen")
	p.loadAxe()
	p.axe("300 calls", targets)
	p.quiet()
}

// pagePhone: axe-core finds no fault in the views of a phone, and everything fits its screen.
func pagePhone(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.do("phone", chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	p.open(home, "phone")
	p.everyState()
	p.card("slow_query", "timeout", "")
	p.wait("all tools in the window", `[...document.querySelectorAll(".tools button")].every((b) => b.offsetWidth > 0 && b.getBoundingClientRect().right <= 390)`)
	p.loadAxe()
	for _, view := range []string{"cards", "waterfall", "both"} {
		p.do(view, chromedp.Click(chromedp.CSS(`#views input[value="`+view+`"]`)))
		p.wait("the view", `document.querySelector("#main").dataset.view === "`+view+`"`)
		p.screenshot("phone-" + view)
		p.axe("a phone, "+view, targets)
	}
	p.do("frames", chromedp.Click(chromedp.CSS("#raw-open")))
	p.wait("the frames", shown("#raw table"))
	p.axe("frames on a phone", targets)
	p.screenshot("phone-frames")
	eval[bool](p, `(localStorage.removeItem("view"), true)`)
}

// countedListener adds the bytes that are written to its connections to sent.
type countedListener struct {
	net.Listener
	sent *atomic.Int64
}

func (l countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, l.sent}, err
}

type countedConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countedConn) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data)
	c.sent.Add(int64(n))
	return n, err
}

// modules opens the sources of the page, whose modules can be imported.
func (p *webPage) modules() {
	p.t.Helper()
	sources := httptest.NewServer(http.FileServer(http.Dir("../../examples/sse-ui")))
	p.t.Cleanup(sources.Close)
	p.do("open the sources", chromedp.Navigate(sources.URL+"/test/empty.html"))
}
