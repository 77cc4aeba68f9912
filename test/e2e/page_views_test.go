package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// pageAddress: the view, the search, the part of the time axis and the chosen call are in the
// address, and another page that opens it shows the same.
func pageAddress(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "address")
	p.everyState()
	p.card("slow_query", "timeout", "")
	p.do("the waterfall alone", chromedp.Click(chromedp.CSS(`#views input[value="waterfall"]`)))
	eval[bool](p, `((s) => { s.value = "slow"; s.dispatchEvent(new Event("input")); return true; })(document.querySelector("#find"))`)
	p.wait("the row alone", `document.querySelectorAll(".wf-row").length === 1`)
	p.do("a row", chromedp.Click(chromedp.CSS(`.wf-row .wf-name`)))
	p.press("+", "+")
	p.wait("a zoomed axis", `document.querySelector(".wf-overview").dataset.zoomed === "true"`)
	const shows = `[location.hash, document.querySelector("#main").dataset.view, document.querySelector("#find").value, document.querySelectorAll(".wf-row").length,
		document.querySelector('.wf-row[aria-selected="true"]')?.textContent.includes("slow_query"), document.querySelector(".wf-overview").dataset.zoomed].join(" ")`
	want := eval[string](p, shows)
	address := eval[string](p, "location.href")
	eval[bool](p, `(localStorage.removeItem("view"), true)`)
	q := openTab(t, web, "light")
	q.do("open the address", chromedp.Navigate(address))
	q.wait("the same: "+want, shows+" === "+quotedJSON(want))
	if !strings.Contains(want, "true") || !strings.Contains(want, "zoom=") || !strings.Contains(want, "call=") {
		t.Errorf("the page shows %q, want a call and a zoomed axis in the address", want)
	}
	eval[bool](q, `((s) => { s.value = "nowhere"; s.dispatchEvent(new Event("input")); return true; })(document.querySelector("#find"))`)
	q.wait("the query without a call", `document.querySelector(".found").textContent.includes("“nowhere”")`)
	q.do("clear", chromedp.Click(chromedp.CSS(".search button.quiet")))
	q.wait("all calls", `document.querySelectorAll(".wf-row").length === 8`)
	q.quiet()
}

// pageExport: the page that is exported shows the session without a server.
func pageExport(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "exported")
	p.everyState()
	p.card("slow_query", "timeout", "")
	html := eval[string](p, `new Promise((done) => {
		URL.createObjectURL = (blob) => (blob.text().then(done), "#");
		document.querySelector("#export-page").click();
	})`)
	file := filepath.Join(t.TempDir(), "session.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	q := openTab(t, web, "light")
	q.do("open the file", chromedp.Navigate("file://"+file))
	q.card("find_file", "completed", "the answer of find_file")
	q.card("slow_query", "timeout", "")
	q.wait("no connection", `document.querySelector("#pill").textContent.includes("From a file")`)
	q.screenshot("exported")
	q.quiet()
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
	commands := eval[string](q, `import("/written.js").then((m) => m.curlOf(`+call+`, "copied", `+quotedJSON(result)+`, `+quotedJSON(strings.TrimSuffix(home, "/"))+`))`)
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
