package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// rowsShown is the expression for the rows of the waterfall, in order: the level, the
// tool, and whether the row is expanded.
const rowsShown = `[...document.querySelectorAll(".wf-row")].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
	.map((r) => r.ariaLevel + " " + r.querySelector(".wf-tool").textContent + " " + r.querySelector(".word").textContent + (r.ariaExpanded ? " " + r.ariaExpanded : "")).join(", ")`

// nested is an event of LangGraph: the call of a sub-agent.
const nested = `{"type":"messages","ns":["research:1"],"data":[{"type":"AIMessageChunk","id":"m2","content":"","tool_call_chunks":[{"index":0,"id":"call_n","name":"find_papers","args":"{}"}]},{"langgraph_node":"model","checkpoint_ns":"research:1|model:2"}]}`

// pageWaterfall: the rows of the waterfall are a tree that needs no mouse; zoom,
// pause and the choice of a call work.
func pageWaterfall(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "waterfall")
	p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
	p.post("deltas", toolCall(1, "get_time", `{}`))
	p.post("deltas", finish)
	p.wait("the rows of the open calls", rowsShown+` === "1 get_weather Running, 1 get_time Running"`) // so that the first one runs for some time
	p.post("results", `{"tool_call_id":"call_0","content":"-3 degrees"}`)
	p.wait("the rows", rowsShown+` === "1 get_weather Succeeded, 1 get_time Running"`)
	p.post("deltas", nested)
	p.wait("the sub-agent", rowsShown+` === "1 get_weather Succeeded, 1 get_time Running, 1 research 1 open true, 2 find_papers Arguments"`)
	if bars := eval[string](p, `[...document.querySelector(".wf-row").querySelectorAll(".wf-bar i")].map((i) => i.dataset.phase).join(" ")`); bars != "args running" {
		t.Errorf("the bar of an ended call has the parts %q, want args running", bars)
	}

	eval[bool](p, `(document.querySelector(".wf-grid").focus(), true)`)
	p.press("End", "ArrowLeft", "ArrowLeft")
	p.wait("the collapsed sub-agent", rowsShown+`.endsWith("1 research 1 open false")`)
	p.press("ArrowRight", "Home")
	p.wait("the first row", `document.getElementById(document.querySelector(".wf-grid").getAttribute("aria-activedescendant")).textContent.includes("get_weather")`)
	p.press("+", "+")
	p.wait("a zoomed axis", `document.querySelector(".wf-overview").dataset.zoomed === "true"`)
	p.press("0")
	p.wait("the whole axis", `document.querySelector(".wf-overview").dataset.zoomed === "false"`)
	p.press(" ")
	p.wait("a pause", `document.querySelector(".wf-tools [aria-pressed]").textContent === "Continue"`)
	p.post("results", `{"tool_call_id":"call_1","content":"noon"}`)
	p.card("get_time", "completed", "noon")
	if got := eval[string](p, rowsShown); !strings.Contains(got, "get_time Running") {
		t.Errorf("a paused waterfall shows %q, want get_time still running", got)
	}
	p.press(" ")
	p.wait("the end of the pause", rowsShown+`.includes("get_time Succeeded")`)
	p.press("Enter")
	p.wait("the card of the call", `document.activeElement.dataset.tool === "get_weather"`)
	p.wait("the address of the call", `location.hash.includes("call=")`)

	p.do("the waterfall alone", chromedp.Click(chromedp.CSS(`#views input[value="waterfall"]`)))
	p.do("a row", chromedp.Click(chromedp.CSS(`.wf-row:nth-child(2) .wf-name`)))
	p.wait("the card below", shown(`#inspector .card`)+` && !document.querySelector("#timeline").checkVisibility()`)
	p.do("reload", chromedp.Reload())
	p.wait("the same view", `document.querySelector("#main").dataset.view === "waterfall" && document.querySelectorAll(".wf-row").length === 4`)
	eval[bool](p, `(localStorage.removeItem("view"), true)`)
	p.quiet()
}

// pageReplay: the replay shows at each moment what the live page showed then.
func pageReplay(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "replayed")
	const drawn = `[...document.querySelectorAll("#timeline .card")].map((c) => c.dataset.tool + " " + c.dataset.state + " " +
		(c.querySelector("pre")?.textContent ?? "") + (c.querySelector(".result pre")?.textContent ?? "")).join("; ") + " " + document.querySelector("#summary").textContent`
	var live []string
	for _, step := range []struct{ kind, body, tool, state string }{
		{"deltas", toolCall(0, "get_weather", `{"city":"Os`), "get_weather", "building_args"},
		{"deltas", toolCall(1, "get_time", `{}`), "get_time", "building_args"},
		{"deltas", finish, "get_time", "args_complete"},
		{"results", `{"tool_call_id":"call_1","content":"noon"}`, "get_time", "completed"},
		{"interrupt", `{}`, "get_weather", "cancelled"},
	} {
		p.post(step.kind, step.body)
		p.card(step.tool, step.state, "")
		live = append(live, eval[string](p, drawn))
	}
	p.do("replay", chromedp.Click(chromedp.CSS("#replay")))
	p.wait("a replay that plays from the start", shown("#scrubber input[type=range]")+` && document.querySelector(".sc-play").textContent === "Pause"`)
	eval[bool](p, `(document.querySelector("#scrubber input[type=range]").focus(), true)`)
	p.press("Home")
	p.wait("the beginning", `document.querySelector("#scrubber input[type=range]").value === "0"`)
	const settled = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(` + drawn + `))))`
	last := eval[string](p, `document.querySelector("#scrubber input[type=range]").max`)
	moments := []string{eval[string](p, settled)}
	for range 100 {
		if eval[string](p, `document.querySelector("#scrubber input[type=range]").value`) == last {
			break
		}
		p.press("ArrowRight")
		moments = append(moments, eval[string](p, settled))
	}
	rest := moments
	for _, want := range live {
		at := slices.Index(rest, want)
		if at < 0 {
			t.Fatalf("the live page showed\n%s\nand the replay after it only\n%s", want, strings.Join(rest, "\n"))
		}
		rest = rest[at:]
	}
	for i := len(moments) - 2; i >= 0; i-- {
		p.press("ArrowLeft")
		if got := eval[string](p, settled); got != moments[i] {
			t.Errorf("backwards, moment %d shows\n%s\nwant\n%s", i, got, moments[i])
		}
	}
	if got := eval[bool](p, hidden(".stop-call")); !got {
		t.Error("the replay shows a stop button, want none")
	}
	p.post("deltas", strings.ReplaceAll(toolCall(0, "too_new", `{}`), "msg_1", "msg_2"))
	p.do("back to live", chromedp.Click(chromedp.Search(`//*[@id="scrubber"]//button[.="Back to live"]`)))
	p.card("too_new", "building_args", "")
	p.quiet()
}

// pageHistory: the page without a session lists the runs with their outcome, finds
// calls in all sessions, and leads to them.
func pageHistory(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "dark")
	for _, session := range []string{"history-1", "history-2"} {
		p.url = home + "v1/sessions/" + session
		p.post("deltas", toolCall(0, "book_flight", fmt.Sprintf(`{"to":%q}`, session)))
		p.post("deltas", finish)
	}
	p.post("results", `{"tool_call_id":"call_0","content":"no seats","status":"error"}`)
	p.post("end", `{"reason":"error"}`)
	// The list is read again after 10 s only.
	p.open(home, "history-2")
	p.wait("the end of the run", `document.querySelector('.run-end[data-status="error"]')`)
	eval[bool](p, `(location.hash = "", true)`)
	row := func(session string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".hi-list a")].find((a) => a.querySelector(".name").textContent === %q)?.textContent`, session)
	}
	p.wait("an open session", row("history-1")+`.includes("1 open")`)
	p.wait("a failed session", row("history-2")+`.includes("Failed · ")`)
	p.wait("its failures", row("history-2")+`.includes("1 call · 1 failed")`)
	eval[bool](p, `((f) => { f.querySelector("[type=search]").value = "NO SEATS"; f.requestSubmit(); return true; })(document.querySelector(".hi-form"))`)
	p.wait("the call", `document.querySelectorAll(".hi-hits a").length === 1`)
	p.wait("the numbers of the tool", `/^book_flight1[\d.]+ m?s[\d.]+ m?s10$/.test(document.querySelector(".hi-tools tbody tr")?.textContent)`)
	p.do("visit", chromedp.Click(chromedp.CSS(".hi-hits a")))
	p.wait("the call's card", `document.activeElement.matches('.card[data-tool="book_flight"][data-state="error"]')`)
	p.wait("its row", `document.querySelector(".wf-row")?.ariaSelected === "true"`)
	p.quiet()
}

// pageFile: a compressed file with events, as an archive has it, is shown without the
// server. A recorded stream of a provider is refused with the command that converts it.
func pageFile(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.do("open", chromedp.Navigate(home))
	p.wait("the page", `document.querySelector("#views input:checked")`)
	drop := func(name, text string) {
		const compressed = `new Response(new Blob([%q]).stream().pipeThrough(new CompressionStream("gzip"))).blob()`
		body := fmt.Sprintf("%q", text)
		if strings.HasSuffix(name, ".gz") {
			body = "await " + fmt.Sprintf(compressed, text)
		}
		eval[bool](p, fmt.Sprintf(`(async (d) => { d.items.add(new File([%s], %q)); window.dispatchEvent(new DragEvent("drop", {dataTransfer: d, cancelable: true})); return true; })(new DataTransfer())`, body, name))
	}
	drop("stream.jsonl", toolCall(0, "get_weather", "{}"))
	p.wait("the reason", `document.querySelector("#toast").textContent.includes("OpenAI chat") && document.querySelector("#toast").textContent.includes("streamer assemble --events")`)
	drop("night.jsonl.gz", strings.Join([]string{
		`{"type":"run_started","event_id":"1.0","session":"night","run":"r","timestamp":"2026-03-02T10:00:00.000Z"}`,
		`{"type":"tool_call_start","event_id":"1.1","session":"night","run":"r","message_id":"m","call":"1.0","id":"c","tool_name":"count_stars","timestamp":"2026-03-02T10:00:01.000Z"}`,
		`{"type":"tool_call_result","event_id":"2.0","session":"night","run":"r","message_id":"m","call":"1.0","id":"c","tool_name":"count_stars","timestamp":"2026-03-02T10:00:03.000Z","status":"completed","tool_result":"many"}`,
	}, "\n"))
	p.card("count_stars", "completed", "many")
	p.wait("no connection", `document.querySelector("#pill").textContent.includes("From a file")`)
	eval[bool](p, `((r) => { r.value = "1500"; r.dispatchEvent(new Event("input")); return true; })(document.querySelector("#scrubber input[type=range]"))`)
	p.card("count_stars", "building_args", "")
	saved := eval[string](p, `new Promise((done) => {
		URL.createObjectURL = (blob) => (blob.text().then(done), "#");
		document.querySelector("#export").click();
	})`)
	if n := strings.Count(saved, "\n"); n != 3 || !strings.Contains(saved, `"tool_result":"many"`) {
		t.Errorf("the exported file is\n%s\nwant the 3 events", saved)
	}
	p.do("close", chromedp.Click(chromedp.Search(`//*[@id="scrubber"]//button[.="Close file"]`)))
	p.wait("the list of sessions", shown("#landing"))
	p.quiet()
}

// pageTimeRules: axe-core finds no fault in the waterfall, the replay and the history.
func pageTimeRules(t *testing.T, web context.Context, home string) {
	for _, theme := range []string{"light", "dark"} {
		options := targets
		if theme == "dark" {
			options = `{runOnly: ["color-contrast"]}`
		}
		p := openTab(t, web, theme)
		p.open(home, "time-rules-"+theme)
		p.loadAxe()
		p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
		p.post("deltas", toolCall(1, "get_time", `{}`))
		p.post("deltas", finish)
		p.post("results", `{"tool_call_id":"call_0","content":"-3 degrees"}`)
		p.post("deltas", nested)
		p.wait("the rows", `document.querySelectorAll(".wf-row").length === 4`)
		eval[bool](p, `(document.querySelector(".wf-grid").focus(), true)`)
		p.press("End", "+", "+", "+")
		p.do("replay", chromedp.Click(chromedp.CSS("#replay")))
		p.wait("the slider", shown("#scrubber input[type=range]"))
		p.axe("replay, "+theme, options)
		p.do("the waterfall alone", chromedp.Click(chromedp.CSS(`#views input[value="waterfall"]`)))
		p.do("a row", chromedp.Click(chromedp.CSS(`.wf-row:nth-child(1) .wf-name`)))
		p.wait("the card below", shown(`#inspector .card`))
		p.axe("waterfall, "+theme, options)
		p.screenshot("waterfall-" + theme)
		eval[bool](p, `(localStorage.removeItem("view"), location.hash = "", true)`)
		p.wait("the history", shown(".hi-list"))
		eval[bool](p, `(document.querySelector(".hi-form").requestSubmit(), true)`)
		p.wait("calls", shown(".hi-hits a"))
		p.axe("history, "+theme, options)
		p.screenshot("history-" + theme)
	}
}
