package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageHostile: markup, bidirectional controls, megabytes and deep nesting in names,
// args and results neither execute nor break the page.
func pageHostile(t *testing.T, web context.Context, home string) {
	const markup = `</pre></script><img src=x onerror="window.ran=1"><svg onload="window.ran=1"><a href="javascript:window.ran=1">x</a>{{7*7}}`
	bidi := "\u202e\u2066gnp.exe\u2069\u200f" + strings.Repeat("\u0301", 200) + "\x00\x1b[31m"
	long := strings.Repeat("x", 900)
	deep := strings.Repeat(`{"a":[`, 3_000) + "1" + strings.Repeat("]}", 3_000)
	big := strings.Repeat("<b>abc</b> ", 1_000_000/11)
	p := openTab(t, web, "light")
	p.open(home, "hostile")
	for i, tool := range []string{markup, bidi, long, "deep", "big", "__proto__"} {
		args := `{"x":` + quotedJSON(tool) + `}`
		switch tool {
		case "deep":
			args = deep
		case "big":
			args = `{"x":` + quotedJSON(big) + `}`
		}
		p.post("deltas", delta(`{"tool_calls":[{"index":`+fmt.Sprint(i)+`,"id":`+quotedJSON("id "+tool)+`,"function":{"name":`+quotedJSON(tool)+`,"arguments":`+quotedJSON(args)+`}}]}`))
	}
	p.post("deltas", delta(`{"content":`+quotedJSON(markup+bidi)+`}`))
	p.post("deltas", finish)
	p.post("results", `{"tool_call_id":"id deep","content":`+quotedJSON(deep)+`}`)
	p.post("results", `{"tool_call_id":"id big","content":`+quotedJSON(big)+`}`)
	p.post("results", `{"tool_call_id":`+quotedJSON("id "+markup)+`,"content":`+quotedJSON(markup)+`}`)
	p.post("results", `{"tool_call_id":"id __proto__","content":{"__proto__":{"ran":1},"constructor":1}}`)
	p.card("big", "completed", "<b>abc</b>")
	p.card("deep", "completed", "")
	p.card("__proto__", "completed", "constructor")
	if got := eval[int](p, `document.querySelectorAll(".card").length`); got != 6 {
		t.Errorf("the page shows %d calls, want 6", got)
	}
	p.wait("the markup as text", `document.querySelector("#timeline").textContent.includes('onerror="window.ran=1"')`)

	// The result of a megabyte begins without a quote, says that it continues, and opens in place.
	if got := eval[string](p, `document.querySelector('.card[data-tool="big"] .result pre').textContent`); !strings.HasPrefix(got, "<b>abc") || !strings.HasSuffix(got, "…") {
		t.Errorf("the beginning of a large result is shown as %.20q … %q", got, got[max(0, len(got)-20):])
	}
	p.do("show all", chromedp.Click(chromedp.CSS(`.card[data-tool="big"] .result .more`)))
	p.wait("the whole result", fmt.Sprintf(`document.querySelector('.card[data-tool="big"] .result pre').textContent.length === %d`, len(big)))
	eval[bool](p, `document.querySelectorAll("details").forEach((d) => (d.open = true)), true`)
	p.do("all frames", chromedp.Click(chromedp.CSS("#raw-open")))
	p.wait("the frames", `document.querySelectorAll("#raw tbody tr").length > 8`)
	eval[bool](p, `document.querySelectorAll("#raw [aria-expanded=false]").forEach((b) => b.click()), true`)
	p.do("side by side", chromedp.Click(chromedp.CSS("#raw [aria-pressed]")))
	p.wait("the protocols", `[...document.querySelectorAll("#raw .sides ol")].every((l) => l.textContent.includes("__proto__"))`)
	p.screenshot("hostile")
	p.reordered()
	eval[bool](p, `(document.querySelector('#views input[value="waterfall"]').click(), true)`)
	p.wait("the rows", `document.querySelectorAll(".wf-row").length === 6`)
	p.do("a row", chromedp.Click(chromedp.CSS(`.wf-row:nth-child(2) .wf-name`)))
	p.wait("the card below", shown(`#inspector .card`))
	p.reordered()
	eval[bool](p, `(localStorage.removeItem("view"), location.hash = "", true)`)
	p.wait("the session in the history, which is read every 10 s", `document.querySelector(".hi-list")?.textContent.includes("hostile")`)
	eval[bool](p, `(document.querySelector(".hi-form").requestSubmit(), true)`)
	p.wait("calls", `document.querySelector(".hi-hits").textContent.includes("__proto__")`)
	p.reordered()
	if eval[bool](p, `window.ran !== undefined || ({}).ran !== undefined || document.querySelector("#main img, #raw img, #main script, [onerror], [onload]") !== null`) {
		t.Error("data of the session was executed or became markup")
	}
	if got := eval[int](p, `document.documentElement.scrollWidth - innerWidth`); got > 0 {
		t.Errorf("the page is %d pixels wider than its window", got)
	}
	p.quiet()
}

// reordered checks that no name, id, title or value on the page has a control that
// changes the order of the text around it.
func (p *webPage) reordered() {
	p.t.Helper()
	found := eval[[]string](p, `[document, ...document.querySelectorAll("body, body *")].flatMap((e) => e === document ? [document.title]
		: [e.title, e.ariaLabel, e.placeholder, ...(e.matches(".text") ? [] : [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data))])
		.filter((s) => /[\u202a-\u202e\u2066-\u2069]/.test(s)).map((s) => JSON.stringify(s.slice(0, 60)))`)
	if len(found) > 0 {
		p.t.Errorf("the controls that change the order of text are not shown as escapes in %q", found)
	}
	if !eval[bool](p, `document.body.textContent.includes("\\u202e\\u2066gnp.exe")`) {
		p.t.Error("the escaped name is not on the page")
	}
}
