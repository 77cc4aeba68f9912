package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"streamer/test/local"
	"streamer/test/testkit"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestPage checks the page in a real browser: what its states are for a screen
// reader, that it needs no mouse, that data cannot break it, and how long a large
// session blocks it. Outside of campaigns it checks one walk through the page.
func TestPage(t *testing.T) {
	t.Parallel()
	web := chromium(t)
	s, _ := local.Serve(t, local.Config(t.TempDir()))
	all := []struct {
		name string
		test func(t *testing.T, web context.Context, home string)
	}{
		{"themes", pageThemes},
		{"console", pageConsole},
		{"rejections", pageRejections},
		{"R25 states are read, and starts and ends announced", pageStates},
		{"axe", pageRules},
		{"R23 a stop is shown before its events", pageStopRequested},
		{"true states", pageTrueStates},
		{"closed by a message", pageClosedByMessage},
		{"answers", pageAnswers},
		{"new attempt", pageAttempt},
		{"keyboard", pageKeyboard},
		{"search", pageSearch},
		{"address", pageAddress},
		{"export", pageExport},
		{"frames", pageFrames},
		{"copies", pageCopies},
		{"hostile", pageHostile},
		{"large", pageLarge},
		{"full picture", pagePicture},
		{"print", pagePrint},
		{"waterfall", pageWaterfall},
		{"breaks", pageBreaks},
		{"rendered values", pageRendered},
		{"right to left", pageDirections},
		{"resized", pageResized},
		{"replay", pageReplay},
		{"history", pageHistory},
		{"file", pageFile},
		{"axe of views", pageTimeRules},
	}
	for _, c := range all[:testkit.Of(1, len(all))] {
		t.Run(c.name, func(t *testing.T) { c.test(t, web, s.Page()) })
	}
}

// eval returns the value of an expression in the page. A promise is awaited.
func eval[T any](p *webPage, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%.200s: %v\nconsole: %q", expression, err, p.console())
	}
	return v
}

// press presses keys, one after another. The text of a key is part of its first
// event, so that a page that takes the key prevents it.
func (p *webPage) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		down := input.DispatchKeyEventParams{Type: "keyDown", Key: key}
		switch key {
		case "Tab", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End", "Escape", "Enter":
			down.WindowsVirtualKeyCode = map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
			if key == "Enter" {
				down.Text = "\r"
			}
		default:
			down.Text = key
		}
		up := down
		up.Type, up.Text = "keyUp", ""
		p.do("press "+key, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, down)
			if err == nil {
				_, err = cdp.Call(ctx, tab, input.DispatchKeyEvent, up)
			}
			return err
		}))
	}
}

// quiet checks that the console is empty.
func (p *webPage) quiet() {
	p.t.Helper()
	if got := p.console(); len(got) > 0 {
		p.t.Errorf("got %q on the console, want nothing", got)
	}
}

// heard returns the text of each call in the accessibility tree, by the name of
// its article.
func (p *webPage) heard() map[string]string {
	p.t.Helper()
	var tree []*accessibility.Node
	p.do("read the accessibility tree", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		got, err := cdp.Call(ctx, tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		tree = got.Nodes
		return err
	}))
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range tree {
		nodes[n.NodeID] = n
	}
	texts := map[string]string{}
	for _, n := range tree {
		if !n.Ignored && axText(n.Role) == "article" {
			texts[axText(n.Name)] = strings.Join(spoken(nodes, n), " ")
		}
	}
	return texts
}

// spoken returns the texts below a node of the accessibility tree, in order.
func spoken(nodes map[accessibility.NodeID]*accessibility.Node, n *accessibility.Node) (texts []string) {
	if axText(n.Role) == "StaticText" && !n.Ignored {
		return []string{axText(n.Name)}
	}
	for _, id := range n.ChildIDs {
		if child := nodes[id]; child != nil {
			texts = append(texts, spoken(nodes, child)...)
		}
	}
	return texts
}

func axText(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // other values have no text
	}
	return text
}

// loadAxe loads the rules of axe-core into the page. Where they are not installed
// the test is skipped, or fails if STREAMER_REQUIRE_BROWSER says that it must not
// be.
func (p *webPage) loadAxe() {
	p.t.Helper()
	source, err := os.ReadFile("../axe/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("STREAMER_REQUIRE_BROWSER") != "1" {
		p.t.Skip("axe-core is not installed: run npm ci in test/axe")
	}
	if err != nil {
		p.t.Fatal(err)
	}
	eval[bool](p, string(source)+"\n;true")
}

// violations returns the faults that axe-core finds in the page. Of the frames it
// sees the first ones, because the others are like them.
func (p *webPage) violations(options string) []string {
	p.t.Helper()
	return eval[[]string](p, `axe.run({exclude: [["#raw tbody tr:nth-child(n+6)"], [".sides li:nth-child(n+3)"]]}, {preload: false, iframes: false, ...`+options+`}).then((r) => r.violations.flatMap((v) =>
		v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.any.concat(n.all, n.none).map((c) => c.message).join(" "))))`)
}

// axe checks that axe-core finds no fault in the page.
func (p *webPage) axe(what, options string) {
	p.t.Helper()
	for _, f := range p.violations(options) {
		p.t.Errorf("%s: %s", what, f)
	}
}

// hidden is the expression for an element that is not shown.
func hidden(selector string) string {
	return fmt.Sprintf(`!document.querySelector(%q)?.checkVisibility()`, selector)
}

// shown is the expression for an element that is shown.
func shown(selector string) string { return "!(" + hidden(selector) + ")" }
