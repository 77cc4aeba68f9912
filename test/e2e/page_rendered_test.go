package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageRendered: edits, commands, lists of objects, images and other values are shown in the form
// of each; nothing is loaded from an address in a value, and the text is one click away.
func pageRendered(t *testing.T, web context.Context, home string) {
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC"
	const pictures = `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}},{"type":"image_url","image_url":{"url":"https://pictures.example.com/a.png"}}]`
	calls := []struct{ tool, args, result, side, view, text string }{
		{"Edit", `{"file_path":"a.py","old_string":"x = 1\ny","new_string":"x = 2\ny"}`, `"done"`, "args", "diff", "a.py+1 −1- x = 1\n+ x = 2\n  y\n"},
		{"Bash", `{"command":"make test"}`, `{"stdout":"ok\n","stderr":"<b>bad</b>","exit_code":2}`, "result", "terminal", "ok\n<b>bad</b>exit code 2"},
		{"list_files", `{}`, `[{"name":"<img src=x onerror=alert(1)>","size":1},{"name":"b","size":2}]`, "result", "table", "namesize<img src=x onerror=alert(1)>1b2"},
		{"screenshot", `{}`, pictures, "result", "content", "Open the image at pictures.example.com"},
		{"write_file", `{"path":"a","content":"one\ntwo"}`, `"ok"`, "args", "map", "pathacontentone\ntwo"},
	}
	p := openTab(t, web, "light")
	p.open(home, "rendered")
	for i, c := range calls {
		p.post("deltas", toolCall(i, c.tool, c.args))
	}
	p.post("deltas", toolCall(len(calls), "get_weather", `{"city":"Oslo"}`))
	p.post("deltas", finish)
	for i, c := range calls {
		p.post("results", fmt.Sprintf(`{"tool_call_id":"call_%d","content":%s}`, i, c.result))
	}
	for _, c := range calls {
		t.Run(c.tool, func(t *testing.T) {
			where := map[string]string{"args": ".body > .value", "result": ".result"}[c.side]
			p.wait("the view of "+c.tool, fmt.Sprintf(`document.querySelector('.card[data-tool=%q] %s [data-view=%q]')?.textContent === %s`, c.tool, where, c.view, quotedJSON(c.text)))
		})
	}
	p.wait("the image that is part of the value", `document.querySelector(".view img")?.naturalWidth === 10`)
	if n := eval[int](p, `document.querySelectorAll(".view img, .view [onerror]").length`); n != 1 {
		t.Errorf("the page has %d images, want the one that is part of the value", n)
	}
	if foreign := eval[[]string](p, `performance.getEntriesByType("resource").map((e) => e.name).filter((name) => !name.startsWith(location.origin) && !name.startsWith("data:"))`); len(foreign) > 0 {
		t.Errorf("the page loads %q", foreign)
	}
	p.wait("a short value as JSON", `document.querySelector('.card[data-tool="get_weather"] .view') === null`)
	p.do("choose it", chromedp.Click(chromedp.CSS(`.card[data-tool="get_weather"] h3`)))
	p.wait("a map of the chosen one", `document.querySelector('.card[data-tool="get_weather"] [data-view="map"]')?.textContent === "cityOslo"`)
	p.do("as text", chromedp.Click(chromedp.CSS(`.card[data-tool="get_weather"] .flip`)))
	p.wait("the JSON", shown(`.card[data-tool="get_weather"] pre .key`)+` && !document.querySelector('.card[data-tool="get_weather"] .view').checkVisibility()`)
	p.loadAxe()
	p.axe("rendered values", targets)
	p.screenshot("rendered")
	p.quiet()
}

// pageResized: the separators of the waterfall, the frames and the protocols move with the keys,
// and what they were is kept.
func pageResized(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "resized")
	p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
	p.card("get_weather", "building_args", "")
	width := func(selector, side string) float64 {
		return eval[float64](p, `document.querySelector("`+selector+`").getBoundingClientRect().`+side)
	}
	before := width("#waterfall", "width")
	eval[bool](p, `(document.querySelector("main > .splitter").focus(), true)`)
	p.press("ArrowLeft", "ArrowLeft")
	narrow := width("#waterfall", "width")
	if value := eval[string](p, `document.activeElement.ariaValueNow + document.activeElement.role`); narrow >= before || value != "50separator" {
		t.Errorf("after two keys the waterfall is %.0f px wide, before %.0f, and its separator is at %s", narrow, before, value)
	}
	p.press("f")
	p.wait("the frames", shown("#raw table"))
	high := width("#raw", "height")
	eval[bool](p, `(document.querySelector("#raw > .splitter").focus(), true)`)
	p.press("ArrowUp")
	if got := width("#raw", "height"); got <= high {
		t.Errorf("after a key the frames are %.0f px high, before %.0f", got, high)
	}
	high = width("#raw", "height")
	p.do("side by side", chromedp.Click(chromedp.CSS("#raw [aria-pressed]")))
	p.wait("the separators", `document.querySelectorAll(".sides [role=separator]").length === 3`)
	eval[bool](p, `(document.querySelector(".sides .splitter").focus(), true)`)
	p.press("End")
	if left, right := width(".sides section", "width"), width(".sides [data-protocol=ai-sdk]", "width"); left < 3*right {
		t.Errorf("the first protocol is %.0f px wide and the second %.0f, want most of both for the first", left, right)
	}
	p.screenshot("resized")
	p.do("reload", chromedp.Reload())
	p.card("get_weather", "building_args", "")
	p.press("f")
	p.wait("the frames", shown("#raw table"))
	if w, h := width("#waterfall", "width"), width("#raw", "height"); w != narrow || h != high {
		t.Errorf("after a reload the waterfall is %.0f px wide and the frames are %.0f px high, want %.0f and %.0f", w, h, narrow, high)
	}
	eval[bool](p, `(localStorage.clear(), true)`)
	p.quiet()
}

// pageBreaks: a call of minutes and a pause of minutes break the axis, so that the short calls
// around them are seen.
func pageBreaks(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.do("open", chromedp.Navigate(home))
	p.wait("the choice of a file", `document.querySelector("#file-landing") && document.readyState === "complete"`)
	eval[bool](p, `(() => {
		const calls = [["a", 0, 400], ["b", 200, 900], ["build", 500, 300_000], ["c", 300_500, 301_000], ["d", 900_000, 901_000]], events = [{ type: "run_started", event_id: "0", session: "gaps", run: "r", timestamp: new Date(1.7e12).toISOString() }];
		calls.forEach(([tool, from, to], i) => {
			const about = (type, ms, more) => ({ type, event_id: i + "." + ms, session: "gaps", run: "r", message_id: "m", call: i + ".0", id: "c" + i, tool_name: tool, timestamp: new Date(1.7e12 + ms).toISOString(), ...more });
			events.push(about("tool_call_start", from), about("tool_call_result", to, { status: "completed", tool_result: "ok" }));
		});
		const data = new DataTransfer(), file = document.querySelector("#file-landing");
		data.items.add(new File([events.sort((a, b) => a.timestamp < b.timestamp ? -1 : 1).map((e) => JSON.stringify(e)).join("\n")], "gaps.jsonl"));
		file.files = data.files;
		return file.dispatchEvent(new Event("change"));
	})()`)
	p.wait("the rows", `document.querySelectorAll(".wf-row").length === 5`)
	p.wait("two breaks, with what they leave out", `[...document.querySelectorAll(".wf-labels [data-gap=true]")].map((s) => s.textContent).join() === "4 min 58 s,9 min 58 s"`)
	thin := eval[[]string](p, `[...document.querySelectorAll(".wf-row")].filter((r) => [...r.querySelectorAll(".wf-bar i")].reduce((w, i) => w + i.offsetWidth, 0) < 8).map((r) => r.textContent)`)
	if len(thin) > 0 {
		t.Errorf("the bars of %q are thinner than 8 px", thin)
	}
	p.screenshot("breaks")
	eval[bool](p, `(document.querySelector(".wf-grid").focus(), true)`)
	p.press("End", "+", "+", "+")
	p.wait("the axis around the last call, without a break", `document.querySelector(".wf-overview").dataset.zoomed === "true" && document.querySelectorAll(".wf-gaps i").length === 0`)
	p.quiet()
}

// pageDirections: a text in Hebrew begins at the right, and a key in Hebrew stays before its value.
func pageDirections(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "directions")
	p.post("deltas", delta(`{"content":"שלום, world!\n\nEnglish, שלום.\n\n- **פריט** one"}`))
	p.post("deltas", delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"search","arguments":"{\"שם\":\"ערך\",\"יעד\":[\"חיפה\",7]}"}}]}`))
	p.post("deltas", finish)
	p.post("results", `{"tool_call_id":"c","content":"שלום, world!"}`)
	p.card("search", "completed", "world")
	p.wait("the end of the text", `!!document.querySelector("#timeline .text ul")`)
	p.screenshot("directions")
	for what, holds := range map[string]string{
		"the key is before the value": `box(".value .key").right <= box(".value .string").left`,
		"JSON begins at the left":     `box(".value .key").left < box(".value .scroll").left + 60`,
		"Hebrew begins at the right":  `box(".text > p").right > box(".text > p + p").right && box(".result pre").right > box(".result .scroll").right - 40`,
		"English begins at the left":  `box(".text > p + p").left < box(".text > p").left`,
		"a list begins at the right":  `getComputedStyle(document.querySelector(".text ul")).direction === "rtl"`,
	} {
		if !eval[bool](p, `(() => { const box = (s) => { const r = document.createRange(); r.selectNodeContents(document.querySelector("#timeline " + s)); return r.getBoundingClientRect(); }; return `+holds+`; })()`) {
			t.Errorf("%s: not so on the page", what)
		}
	}
	p.quiet()
}
