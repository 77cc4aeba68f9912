package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pagePrint: every call is on the printed page, also those that are below the window or
// beside the waterfall.
func pagePrint(t *testing.T, web context.Context, home string) {
	const messages, calls = 14, 8 // more than are drawn outside the window
	p := openTab(t, web, "dark")
	p.open(home, "print")
	var lines []string
	for m := range messages {
		for i := range calls {
			lines = append(lines, fmt.Sprintf(`{"id":"msg_%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call_%d_%d","function":{"name":"tool_%d_%d","arguments":"{}"}}]}}]}`, m, i, m, i, m, i))
		}
	}
	p.post("deltas", "["+strings.Join(lines, ",")+"]")
	p.wait("the calls", fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, messages*calls))
	p.wait("the waterfall", shown("#waterfall .wf-row"))
	p.do("reload", chromedp.Reload())
	p.wait("the newest call", `((e) => e.scrollHeight > e.clientHeight && e.scrollTop + e.clientHeight > e.scrollHeight - 2)(document.querySelector("#scroll"))`)
	p.wait("the calls after a reload", fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, messages*calls))
	// Cards that come into the window do not grow then.
	if got := eval[int](p, `document.querySelectorAll("#timeline .card .countdown").length`); got != messages*calls {
		t.Errorf("%d of %d cards have the time that is left", got, messages*calls)
	}
	if got := blankCards(p); len(got) > 0 {
		t.Errorf("%d of %d printed calls are blank or not on the page: %q", len(got), messages*calls, got)
	}
	// A page of paper has space for no more than 20 of these calls.
	if got := p.printedPages(); got < messages*calls/20 {
		t.Errorf("%d calls are printed on %d pages", messages*calls, got)
	}
}

// blankCards returns the tools of the calls that a picture of the whole page does not
// show, with the styles for print.
func blankCards(p *webPage) (blank []string) {
	p.t.Helper()
	p.do("print styles", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return err
	}))
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	if got := eval[int](p, `getComputedStyle(document.body).color.match(/\d+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0)`); got > 3*128 {
		p.t.Errorf("in the dark theme the text is printed with a brightness of %d, want dark text", got/3)
	}
	boxes, shot := pictureOfCards(p)
	p.do("screen styles", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
		return err
	}))
	img, _, err := image.Decode(bytes.NewReader(shot))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, b := range boxes {
		area := image.Rect(int(b.Left*printScale), int(b.Top*printScale), int(b.Right*printScale), int(b.Bottom*printScale))
		if !area.In(img.Bounds()) || coloursIn(img, area) < 5 {
			blank = append(blank, b.Tool)
		}
	}
	return blank
}

// printScale makes pictures small, which are taken and read faster.
const printScale = 0.4

// cardBox is where the card of a call is on the page.
type cardBox struct {
	Tool                     string
	Left, Top, Right, Bottom float64
}

// pictureOfCards returns a picture of the whole page and where its cards are. It takes
// the picture again if a card has moved or grown meanwhile.
func pictureOfCards(p *webPage) (boxes []cardBox, shot []byte) {
	p.t.Helper()
	const cards = `[...document.querySelectorAll("#timeline .card")].map((c) => ((r) => ({Tool: c.dataset.tool, Left: r.left + scrollX, Top: r.top + scrollY, Right: r.right + scrollX, Bottom: r.bottom + scrollY}))(c.getBoundingClientRect()))`
	boxes = eval[[]cardBox](p, cards)
	for range 20 {
		size := eval[[]float64](p, `[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`)
		clip := &page.Viewport{Width: size[0], Height: size[1], Scale: printScale}
		p.do("picture", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			got, err := cdp.Call(ctx, tab, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true), OptimizeForSpeed: new(true), Clip: clip})
			shot = got.Data
			return err
		}))
		before := boxes
		if boxes = eval[[]cardBox](p, cards); slices.Equal(before, boxes) {
			return boxes, shot
		}
	}
	p.t.Fatal("the cards move all the time")
	return nil, nil
}

// coloursIn returns the number of colours in a part of a picture.
func coloursIn(img image.Image, area image.Rectangle) int {
	colours := map[color.Color]bool{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x += 2 {
			colours[img.At(x, y)] = true
		}
	}
	return len(colours)
}

// printedPages returns the number of pages of the printed page.
func (p *webPage) printedPages() (n int) {
	p.t.Helper()
	p.do("print", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		got, err := cdp.Call(ctx, tab, page.PrintToPDF, page.PrintToPDFParams{})
		n = len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(got.Data, -1))
		return err
	}))
	return n
}
