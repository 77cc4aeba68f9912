package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/png" // screenshots are
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/test/browser"
	"streamer/test/local"
	"streamer/test/testkit"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestBrowser checks how a page keeps its connection in a real browser: with other
// pages, and while the server is away. Outside of campaigns the server is killed only.
func TestBrowser(t *testing.T) {
	t.Parallel()
	web := chromium(t)
	all := []struct {
		name string
		test func(t *testing.T, web context.Context)
	}{
		{"killed server", browserKilled},
		{"pages share a stream", browserShares},
		{"EventSource", browserEventSource},
		{"restart", browserResumes},
	}
	for _, c := range all[:testkit.Of(1, len(all))] {
		t.Run(c.name, func(t *testing.T) { c.test(t, web) })
	}
}

// pageThemes shows a session in the light and the dark theme: calls build their args,
// complete, get a result, time out, and are stopped by hand. Every message on the
// console, such as a violated policy, is a failure.
func pageThemes(t *testing.T, web context.Context, home string) {
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			p := openTab(t, web, theme)
			p.open(home, "browser-"+theme)
			p.watch()
			checkPicture(t, p.picture(), theme)
			p.screenshot("closed-" + theme)
			p.checkPhone()

			// The page is a function of the log: it is the same after a reload.
			before := p.cards()
			p.do("reload", chromedp.Reload())
			p.wait("the calls after a reload", `document.querySelectorAll(".card").length === `+fmt.Sprint(strings.Count(before, "\n")))
			p.wait("the end of the history", `document.querySelector("#pill").dataset.connection === "live"`)
			if got := p.cards(); got != before {
				t.Errorf("after a reload the page shows\n%swant\n%s", got, before)
			}
			if got := p.console(); len(got) > 0 {
				t.Errorf("got %q on the console, want nothing", got)
			}
		})
	}
}

// pageConsole checks that the other tests would notice console messages: scripts that
// the policy forbids, errors, and missing files.
func pageConsole(t *testing.T, web context.Context, home string) {
	for _, c := range []struct{ script, want string }{
		{`document.head.append(Object.assign(document.createElement("script"), {text: "1"}))`, "Content Security Policy"},
		{`setTimeout(() => { throw new Error("thrown") })`, "thrown"},
		{`Promise.reject(new Error("unhandled"))`, "unhandled"},
		{`console.warn("careful")`, "careful"},
		{`document.body.append(Object.assign(new Image(), {src: "/missing.png"}))`, "404"},
	} {
		t.Run(c.want, func(t *testing.T) {
			p := openTab(t, web, "light")
			p.open(home, "console")
			p.do(c.script, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
				_, err := chromedp.Evaluate[chromedp.Void]("void "+c.script)(ctx, tab)
				return err
			}))
			for got := ""; !strings.Contains(got, c.want); got = strings.Join(p.console(), "\n") {
				select {
				case <-p.written:
				case <-p.ctx.Done():
					t.Fatalf("%s: got %q on the console, want %q", c.script, got, c.want)
				}
			}
		})
	}
}

// browserResumes restarts the server while a page shows a call. The page marks
// its content as stale, reconnects by itself, misses nothing and shows nothing
// twice.
func browserResumes(t *testing.T, web context.Context) {
	c := local.Config(t.TempDir())
	c.HTTPListen = testkit.FreePort(t) // the same after the restart
	s, stop := local.Serve(t, c)
	p := openTab(t, web, "light")
	p.open(s.Page(), "resumes")
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"id":"call_w","function":{"name":"get_weather","arguments":"{\"city\":\"Os"}}]}`))
	p.card("get_weather", "building_args", `"Os`)

	stop()
	p.wait("the page to be stale", `document.querySelector("#main").dataset.stale === "true"`)
	p.wait("since when the call is unknown", `/^since \d/.test(document.querySelector(".card .countdown").textContent)`)
	p.screenshot("unknown")
	local.Serve(t, c)
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"lo\"}"}}]},"finish_reason":"tool_calls"`))
	p.post("results", `{"tool_call_id":"call_w","content":"-3 degrees"}`)
	p.card("get_weather", "completed", "-3 degrees")
	p.card("get_weather", "completed", `"Oslo"`)
	p.wait("the page to be current", `document.querySelector("#main").dataset.stale === "false"`)
	if got, want := p.cards(), "get_weather completed\n"; got != want {
		t.Errorf("the page shows\n%swant\n%s", got, want)
	}
}

// pageRejections: inputs that are rejected for one reason are one notice with
// their number.
func pageRejections(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "rejections")
	for range 3 {
		p.post("deltas", `{"foreign":1}`)
	}
	p.post("deltas", `{"choices":7,"object":"chat.completion.chunk"}`)
	p.wait("the notices", `document.querySelectorAll('.notice[data-notice="rejected"]').length === 2`)
	p.wait("the number of inputs", `document.querySelector(".notice").textContent.startsWith("3 inputs were rejected: ")`)
	p.wait("the other reason", `document.querySelectorAll(".notice")[1].textContent.startsWith("An input was rejected: ")`)
	p.screenshot("rejections")
}

// watch publishes a session with five calls and checks each state of them.
func (p *webPage) watch() {
	p.t.Helper()
	p.post("deltas", delta(`{"role":"assistant","content":"Looking at the weather in Oslo, and at the report."}`))
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"id":"call_w","function":{"name":"get_weather","arguments":"{\"city\":\"Os"}}]}`))
	p.card("get_weather", "building_args", `"Os`)
	p.screenshot("building-" + p.theme)

	p.post("deltas", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"lo\"}"}}]}`))
	for i, tool := range []string{"slow_report", "search_files", "deploy", "read_page"} {
		p.post("deltas", delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d","function":{"name":%q,"arguments":"{\"n\":%d}"}}]}`, i+1, i+1, tool, i+1)))
	}
	p.post("deltas", `{"id":"msg_1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
	p.card("get_weather", "args_complete", `"Oslo"`)

	p.post("results", `{"tool_call_id":"call_w","content":"{\"degrees\":-3,\"sky\":\"clear\"}"}`)
	p.card("get_weather", "completed", "degrees")
	p.post("results", `{"tool_call_id":"call_4","content":"no such page","status":"error"}`)
	p.card("read_page", "error", "no such page")
	p.card("slow_report", "timeout", "timed out")

	p.do("stop one call", chromedp.Click(chromedp.CSS(`.card[data-tool="search_files"] .stop-call`)))
	p.card("search_files", "cancelled", "cancelled")
	if got := p.cards(); !strings.Contains(got, "deploy args_complete\n") {
		p.t.Errorf("after one call was stopped the page shows\n%swant deploy still open", got)
	}
	p.do("stop the run", chromedp.Click(chromedp.CSS("#stop")))
	p.card("deploy", "cancelled", "cancelled")
	p.wait("the end of the run", `document.querySelector(".run-end")?.dataset.status === "cancelled"`)
	p.wait("that there is nothing to stop", `document.querySelector("#stop").getAttribute("aria-disabled") === "true"`)
	if got, want := p.cards(), "get_weather completed\nslow_report timeout\nsearch_files cancelled\ndeploy cancelled\nread_page error\n"; got != want {
		p.t.Errorf("the page shows\n%swant\n%s", got, want)
	}
}

// checkPhone checks that everything fits the screen of a phone.
func (p *webPage) checkPhone() {
	p.t.Helper()
	const width = 390
	p.do("phone", chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile))
	p.wait("the phone's screen", fmt.Sprintf("screen.width === %d", width))
	wide, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](fmt.Sprintf(`[...document.querySelectorAll("body *")]
		.filter((e) => e.getBoundingClientRect().right > %d && !e.closest("pre, .scroll, .search"))
		.map((e) => e.tagName + "#" + e.id + "." + e.className).join(" ")`, width)))
	if err != nil || wide != "" {
		p.t.Errorf("on a screen of %d pixels these overflow to the right: %q %v", width, wide, err)
	}
	p.screenshot("phone-" + p.theme)
	p.do("end of the phone", chromedp.ResetViewport())
}

// delta returns a chunk of message msg_1.
func delta(body string) string {
	return `{"id":"msg_1","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + body + `}]}`
}

// chromium starts a browser.
func chromium(t *testing.T) context.Context {
	t.Helper()
	return browser.Start(t, chromedp.WindowSize(1280, 1000), chromedp.Flag("force-color-profile", "srgb"))
}

// webPage is a tab that shows a session.
type webPage struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // a tab is a context to chromedp
	theme   string
	url     string        // of the session's API
	written chan struct{} // the console was written to

	mu    sync.Mutex // guards lines
	lines []string   // of the console
}

// openTab opens an empty tab and reads its console.
func openTab(t *testing.T, web context.Context, theme string) *webPage {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser.Tab(t, web), 2*time.Minute)
	t.Cleanup(cancel)
	p := &webPage{t: t, ctx: ctx, theme: theme, written: make(chan struct{}, 1)}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.lines = append(p.lines, fmt.Sprintf("%s (%s)", m, m.URL))
			p.mu.Unlock()
			select {
			case p.written <- struct{}{}:
			default:
			}
		}
	}()
	p.do("theme", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: theme},
				{Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return err
	}))
	return p
}

// open shows a session and waits until the page is connected.
func (p *webPage) open(home, session string) {
	p.t.Helper()
	p.url = home + "v1/sessions/" + session
	p.do("open", chromedp.Navigate(home+"#session="+session))
	p.wait("a live stream", `document.querySelector("#pill").dataset.connection === "live"`)
}

// console returns the lines of the console so far.
func (p *webPage) console() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// do performs one action of a user.
func (p *webPage) do(what string, a chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 60*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, a); err != nil {
		p.t.Fatalf("%s: %v\nconsole: %q", what, err, p.console())
	}
}

// wait waits until a condition in the page holds.
func (p *webPage) wait(what, condition string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingTimeout(time.Minute)))
	if err != nil {
		p.screenshot("failed-" + p.theme)
		p.t.Fatalf("waiting for %s: %v\nthe calls are\n%sconsole: %q", what, err, p.cards(), p.console())
	}
}

// card waits until the call of a tool is in a state and its card has a text.
func (p *webPage) card(tool, state, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("%s in state %s with text %s", tool, state, text),
		fmt.Sprintf(`document.querySelector('.card[data-tool=%q][data-state=%q]')?.textContent.includes(%q)`, tool, state, text))
}

// cards returns the calls on the page, a line "tool state" each.
func (p *webPage) cards() string {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](
		`[...document.querySelectorAll(".card")].map((c) => c.dataset.tool + " " + c.dataset.state + "\n").join("")`))
	if err != nil {
		p.t.Error("reading the cards: ", err)
	}
	return text
}

// post publishes an input.
func (p *webPage) post(kind, body string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, p.url+"/"+kind, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusAccepted {
		p.t.Fatalf("%s %s: %s %s %v", kind, body, resp.Status, answer, err)
	}
}

// screenshot writes a picture of the page to $STREAMER_SCREENSHOT_DIR, if it is set.
func (p *webPage) screenshot(name string) {
	p.t.Helper()
	dir := os.Getenv("STREAMER_SCREENSHOT_DIR")
	if dir == "" {
		return
	}
	file := filepath.Join(dir, name+".png")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, p.picture(), 0o644)); err != nil {
		p.t.Error("screenshot: ", err)
	}
}

// picture returns a picture of the page.
func (p *webPage) picture() []byte {
	p.t.Helper()
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Error("picture: ", err)
	}
	return data
}

// checkPicture checks that a picture is not blank, and that its background is bright
// in the light theme and dark in the dark theme.
func checkPicture(t *testing.T, data []byte, theme string) {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[color.Color]int{}
	bright, all := 0, 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 2 {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x += 2 {
			c := img.At(x, y)
			colours[c]++
			all++
			if r, g, b, _ := c.RGBA(); r+g+b > 3*0x7fff {
				bright++
			}
		}
	}
	most := 0
	for _, n := range colours {
		most = max(most, n)
	}
	if len(colours) < 50 || most > all*97/100 {
		t.Errorf("the page is blank: it has %d colours, and one of them covers %d of %d pixels", len(colours), most, all)
	}
	if got := bright > all/2; got != (theme == "light") {
		t.Errorf("the page is not %s: %d of %d pixels are bright", theme, bright, all)
	}
}
