package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageSearch: the search shows the calls that fit, and announces their number.
func pageSearch(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "search")
	p.everyState()
	p.card("slow_query", "timeout", "")
	p.wait("the answer", `document.querySelector('.card[data-tool="find_file"]').dataset.state === "completed"`)
	const visible = `[...document.querySelectorAll(".card")].filter((c) => c.checkVisibility()).map((c) => c.dataset.tool).join(" ")`
	p.press(strings.Split("/answer of find", "")...)
	p.wait("the number of calls", `document.querySelector("#found").textContent === "1 of 8 calls"`)
	p.wait("the call alone", visible+` === "find_file"`)
	p.do("clear", chromedp.Click(chromedp.CSS(".search button.quiet")))
	eval[bool](p, `((s) => { s.value = "timeout"; s.dispatchEvent(new Event("change")); return true; })(document.querySelector('[aria-label="Status"]'))`)
	p.wait("the call with this status", visible+` === "slow_query"`)
	p.do("clear", chromedp.Click(chromedp.CSS(".search button.quiet")))
	p.wait("all calls", `[...document.querySelectorAll(".card")].every((c) => c.checkVisibility())`)
}

// pageFrames: the frames are those of the log, each leads to its card and back, and
// the other protocols show the same call.
func pageFrames(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "frames")
	p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
	p.post("deltas", toolCall(1, "get_time", `{}`))
	p.post("deltas", finish)
	p.post("results", `{"tool_call_id":"call_0","content":"-3 degrees"}`)
	p.post("results", `{"tool_call_id":"call_1","content":"noon"}`)
	p.card("get_weather", "completed", "")
	p.card("get_time", "completed", "")
	p.press("f")
	p.wait("the frames", `document.querySelectorAll("#raw tbody tr").length > 8`)
	types := eval[string](p, `[...document.querySelectorAll("#raw tbody tr")].map((r) => r.cells[2].textContent).join(" ")`)
	for _, want := range []string{"stream.open", "stream.live", "tool_call_start", "tool_call_args_complete", "tool_call_result"} {
		if !strings.Contains(types, want) {
			t.Errorf("the frames have the types %q, want also %s", types, want)
		}
	}
	// By the keyboard: a heartbeat can move the rows between the search for the button and a click.
	eval[bool](p, `([...document.querySelectorAll("#raw td > button")].find((b) => b.textContent.startsWith("get_weather")).focus(), true)`)
	p.press("Enter")
	p.wait("the card", `document.activeElement.dataset.tool === "get_weather"`)
	p.press("f")
	p.wait("the frames of the call", `[...document.querySelectorAll("#raw tbody tr")].every((r) => r.dataset.call && r.cells[5].textContent.startsWith("get_weather"))`)
	p.do("side by side", chromedp.Click(chromedp.CSS("#raw [aria-pressed]")))
	for _, protocol := range []string{"native", "ai-sdk", "ag-ui", "langgraph"} {
		p.wait("the call in "+protocol, fmt.Sprintf(`document.querySelector('#raw [data-protocol=%q] ol').textContent.includes("-3 degrees")`, protocol))
	}
	for _, protocol := range []string{"native", "ai-sdk", "ag-ui"} { // a frame of langgraph has both calls
		if eval[bool](p, fmt.Sprintf(`document.querySelector('#raw [data-protocol=%q] ol').textContent.includes("noon")`, protocol)) {
			t.Errorf("%s shows frames of the other call", protocol)
		}
	}
	p.screenshot("frames")
	p.press("Escape")
	p.wait("the card again", `document.activeElement.dataset.tool === "get_weather"`)
	p.quiet()
	openTab(t, web, "light").commentFrames()
}

// commentFrames checks that the frames have the heartbeats, unless they are turned off,
// and their number. The frames are those of a recorder, because the interval of the
// heartbeats of a server is longer than a test.
func (p *webPage) commentFrames() {
	p.t.Helper()
	p.modules()
	eval[bool](p, `Promise.all([import("/raw.js"), import("/frames.js")]).then(([{ rawView }, { recorder }]) => {
		const frames = recorder(), root = document.createElement("div");
		root.id = "beats";
		document.body.replaceChildren(root);
		frames.add({ event: "stream.live", data: "{}", id: "" }, 1_000);
		frames.add({ event: "", data: " hb", id: "" }, 16_000);
		rawView(root, { frames, counts: () => ({ gaps: 0 }), call: () => null, closed() {} }).show(null);
		return true;
	})`)
	const types = `[...document.querySelectorAll("#beats tbody tr")].map((r) => r.cells[2].textContent + r.cells[4].textContent).join(" ")`
	if got, want := eval[string](p, types), "stream.live0 ms comment15000 ms"; got != want {
		p.t.Errorf("the frames are %q, want %q", got, want)
	}
	if got := eval[string](p, `document.querySelector("#beats .raw-numbers").textContent`); !strings.HasPrefix(got, "1 frame · 1 heartbeat ·") {
		p.t.Errorf("the numbers are %q, want one frame and one heartbeat", got)
	}
	p.do("no heartbeats", chromedp.Click(chromedp.Search(`//*[@id="beats"]//button[.="Heartbeats"]`)))
	if got, want := eval[string](p, types), "stream.live0 ms"; got != want {
		p.t.Errorf("without heartbeats the frames are %q, want %q", got, want)
	}
}

// pageCopies: the commands that a call is copied as produce this call in another
// session.
func pageCopies(t *testing.T, web context.Context, home string) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	p := openTab(t, web, "light")
	p.open(home, "copies")
	const args, result = `{"it's":"$(id) \"x\" \\ ` + "`y`" + `"}`, `it's $HOME; "done"`
	p.post("deltas", toolCall(0, "quote", args))
	p.post("deltas", finish)
	p.post("results", `{"tool_call_id":"call_0","content":`+quotedJSON(result)+`}`)
	p.card("quote", "completed", "done")
	call := `{id: "call_0", tool: "quote", args: {text: ` + quotedJSON(args) + `}, argsDone: true, status: "completed", messageId: "m"}`
	q := openTab(t, web, "light")
	q.modules()
	commands := eval[string](q, `import("/copies.js").then((m) => m.curlOf(`+call+`, "copied", `+quotedJSON(result)+`, `+quotedJSON(strings.TrimSuffix(home, "/"))+`))`)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", commands).CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", commands, err, out)
	}
	p.open(home, "copied")
	p.card("quote", "completed", result)
	p.card("quote", "completed", "$(id)")
}

// quotedJSON returns a text as JSON, with markup as it is.
func quotedJSON(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return strings.TrimSpace(b.String())
}
