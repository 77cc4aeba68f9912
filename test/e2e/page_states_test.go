package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// toolCall returns a delta with a call of the message msg_1.
func toolCall(index int, tool, args string) string {
	return delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d","function":{"name":%q,"arguments":%q}}]}`, index, index, tool, args))
}

// finish is the delta that ends msg_1 for its calls.
const finish = `{"id":"msg_1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

// everyState publishes a session with a call in each state, in the order of
// stateWords.
func (p *webPage) everyState() {
	p.t.Helper()
	for i, s := range stateWords {
		if s.status != "building_args" {
			p.post("deltas", toolCall(i, s.tool, fmt.Sprintf(`{"n":%d}`, i)))
		}
	}
	p.post("deltas", toolCall(len(stateWords), "no_json", `{"a":]`))
	p.post("deltas", finish)
	p.post("deltas", strings.NewReplacer("msg_1", "msg_2", "call_0", "call_poem").Replace(toolCall(0, "write_poem", `{"unfinished":"yes`)))
	for i, s := range stateWords {
		switch s.status {
		case "completed", "error", "denied":
			p.post("results", fmt.Sprintf(`{"tool_call_id":"call_%d","content":"the answer of %s","status":%q}`, i, s.tool, s.status))
		case "cancelled":
			p.post("interrupt", fmt.Sprintf(`{"tool_call_ids":["call_%d"],"reason":"user"}`, i))
		case "progress":
			p.post("progress", fmt.Sprintf(`{"tool_call_id":"call_%d","message":"half way","percent":50}`, i))
		}
	}
}

// stateWords are the tools of everyState, and the words with which the page
// names their states.
var stateWords = []struct{ tool, status, words string }{
	{"find_file", "completed", "Succeeded|the answer of find_file"},
	{"read_page", "error", "Failed|Error|the answer of read_page"},
	{"drop_table", "denied", "Denied"},
	{"send_mail", "cancelled", "Cancelled|stopped"},
	{"slow_query", "timeout", "Timed out|no result came"},
	{"convert", "progress", "Running|half way, 50 %"},
	{"write_poem", "building_args", "Arguments streaming|unfinished"},
}

// pageStates: a screen reader reads the state of every call, and hears starts and
// ends only.
func pageStates(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "states")
	p.do("record announcements", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := chromedp.Evaluate[chromedp.Void](`window.said = []; void new MutationObserver(() => said.push(document.querySelector("#polite").textContent))
			.observe(document.querySelector("#polite"), {childList: true, characterData: true, subtree: true})`)(ctx, tab)
		return err
	}))
	p.everyState()
	p.card("slow_query", "timeout", "")
	p.card("send_mail", "cancelled", "")
	p.wait("the progress", `document.querySelector('.card[data-tool="convert"]')?.textContent.includes("half way")`)
	heard := p.heard()
	for _, s := range stateWords {
		for word := range strings.SplitSeq(s.words, "|") {
			if !strings.Contains(heard[s.tool], word) {
				t.Errorf("a screen reader reads %q for %s, want %q", heard[s.tool], s.tool, word)
			}
		}
	}
	p.wait("an announcement", `said.some((s) => /ended|timed out/.test(s))`)
	for _, s := range eval[[]string](p, "said") {
		if strings.Contains(s, "half way") || strings.Contains(s, "unfinished") {
			t.Errorf("%q was announced, want starts and ends only", s)
		}
	}

	// Claude Code asks for an approval.
	p.open(home, "waits")
	p.post("deltas", `{"type":"assistant","message":{"id":"m1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"delete_branch","input":{"name":"old"}}]},"session_id":"s"}`)
	p.post("deltas", `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"delete_branch","tool_use_id":"toolu_1","input":{}}}`)
	p.card("delete_branch", "awaiting_input", "")
	if got := p.heard()["delete_branch"]; !strings.Contains(got, "Waiting for you") || !strings.Contains(got, "approval") {
		t.Errorf("a screen reader reads %q, want that the call waits for an approval", got)
	}
	p.quiet()
}

// pageRules: axe-core finds no fault in the page with everything open, and no
// colour that is hard to read in the dark theme.
func pageRules(t *testing.T, web context.Context, home string) {
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) { pageRulesIn(t, web, home, theme) })
	}
	p := openTab(t, web, "light")
	p.open(home, "rules-empty")
	p.loadAxe()
	p.axe("an empty session", `{resultTypes: ["violations"]}`)
	eval[bool](p, `document.querySelector("#main").append(new Image()), true`)
	if found := p.violations(`{resultTypes: ["violations"]}`); len(found) == 0 {
		t.Error("axe-core finds no fault in an image without a text")
	}
}

func pageRulesIn(t *testing.T, web context.Context, home, theme string) {
	p := openTab(t, web, theme)
	p.open(home, "rules-"+theme)
	p.loadAxe()
	p.everyState()
	p.post("deltas", `{"foreign":1}`)
	p.card("slow_query", "timeout", "")
	p.wait("the waterfall", shown("#waterfall"))
	eval[bool](p, `document.querySelectorAll("details").forEach((d) => (d.open = true)), true`)
	p.press("f")
	p.wait("the frames", shown("#raw table"))
	options := targets
	if theme == "dark" {
		options = `{runOnly: ["color-contrast"]}`
	}
	p.axe("every state", options)
	p.do("side by side", chromedp.Click(chromedp.CSS("#raw [aria-pressed]")))
	p.wait("four protocols", `document.querySelectorAll("#raw .sides section li").length > 20`)
	p.press("?")
	p.wait("the sheet", `document.querySelector("dialog#keys")?.open`)
	p.axe("side by side and the sheet", options)
	p.screenshot("sheet-" + theme)
}

// pageStopRequested: after a click on a stop button the page shows that the stop was
// requested, until the events of the end arrive.
func pageStopRequested(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "stop-requested")
	p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
	p.post("deltas", toolCall(1, "get_time", `{}`))
	p.post("deltas", finish)
	p.card("get_time", "args_complete", "")
	// The requests of the page wait until the test lets them go.
	eval[bool](p, `((send, held) => { window.held = held; window.fetch = (...a) => new Promise((go) => held.push(() => go(send(...a)))); return true; })(fetch, [])`)
	p.do("stop a call", chromedp.Click(chromedp.CSS(`.card[data-tool="get_weather"] .stop-call`)))
	p.card("get_weather", "args_complete", "stop requested")
	if got := eval[string](p, `document.querySelector('.card[data-tool="get_weather"] .stop-call').ariaLabel`); got != "Stop of get_weather requested" {
		t.Errorf("the button is named %q, want that the stop is requested", got)
	}
	eval[bool](p, `(held.shift()(), true)`)
	p.card("get_weather", "cancelled", "stopped")
	if got := eval[string](p, `document.querySelector('.card[data-tool="get_weather"]').textContent`); strings.Contains(got, "stop requested") {
		t.Errorf("the ended call shows %q, want no requested stop", got)
	}
	p.do("stop the run", chromedp.Click(chromedp.CSS("#stop")))
	p.wait("the requested stop", `document.querySelector("#stop-text").textContent === "Stop requested" && document.querySelector("#stop").ariaDisabled === "true"`)
	p.card("get_time", "args_complete", "")
	eval[bool](p, `(held.shift()(), true)`)
	p.card("get_time", "cancelled", "stopped")
	p.wait("the end of the stop", `document.querySelector("#stop-text").textContent === "Stopped"`)
	p.quiet()
}

// pageTrueStates: a stop of several calls asks first, a call whose message has ended is cut off,
// and a call that was cancelled shows whether its tool stopped.
func pageTrueStates(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "true-states")
	p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
	p.post("deltas", toolCall(1, "write_file", `{"path":"a","content":"it goes`))
	p.card("get_weather", "building_args", "")
	p.post("deltas", strings.Replace(finish, "tool_calls", "length", 1))
	p.wait("a call that is cut off", `document.querySelector('.card[data-tool="write_file"] .word').textContent === "Cut off"`)
	p.post("deltas", strings.NewReplacer("msg_1", "msg_2", "call_0", "call_a").Replace(toolCall(0, "get_time", `{}`)))
	p.post("deltas", strings.NewReplacer("msg_1", "msg_2", "call_1", "call_b").Replace(toolCall(1, "get_news", `{}`)))
	p.post("deltas", strings.Replace(finish, "msg_1", "msg_2", 1))
	p.card("get_news", "args_complete", "")
	p.do("stop", chromedp.Click(chromedp.CSS("#stop")))
	p.wait("the question", `/^Cancel \d calls\?/.test(document.querySelector("#stop-text").textContent)`)
	p.screenshot("stop-asks")
	p.press("Escape")
	p.wait("no question", `document.querySelector("#stop-text").textContent === "Stop"`)
	p.card("get_news", "args_complete", "")
	for range 2 {
		p.do("stop", chromedp.Click(chromedp.CSS("#stop")))
	}
	p.card("get_news", "cancelled", "Whether the tool stopped is not known")
	p.quiet()
}

// pageClosedByMessage: the card of a call that a message of a person has closed leads to
// this message, also from the waterfall.
func pageClosedByMessage(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "closed-by-message")
	p.post("deltas", toolCall(0, "get_weather", `{"city":"Oslo"}`))
	p.post("deltas", finish)
	p.post("deltas", `{"role":"user","content":"Never mind, what time is it?"}`)
	p.card("get_weather", "cancelled", "another message came")
	const link = `//div[contains(@class, "body")]/button[.="Show the message"]`
	const arrived = `document.activeElement.matches(".message[data-role=user]") && document.activeElement.textContent.includes("Never mind")`
	p.do("show the message", chromedp.Click(chromedp.Search(`//*[@id="timeline"]`+link)))
	p.wait("the message", arrived)
	p.do("the waterfall alone", chromedp.Click(chromedp.CSS(`#views input[value="waterfall"]`)))
	p.do("a row", chromedp.Click(chromedp.CSS(`.wf-row .wf-name`)))
	p.do("show the message from the waterfall", chromedp.Click(chromedp.Search(`//*[@id="inspector"]`+link)))
	p.wait("the message beside the waterfall", arrived+` && document.querySelector(".wf-row").checkVisibility()`)
	eval[bool](p, `(localStorage.removeItem("view"), true)`)
	p.quiet()
}

// pageAttempt: the cards of a call of an abandoned message and of its counterpart in the
// next attempt lead to each other.
func pageAttempt(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "attempt")
	for i, id := range []string{"msg_a", "msg_b"} {
		p.post("deltas", `{"type":"message_start","message":{"id":"`+id+`","type":"message","role":"assistant","content":[]}}`)
		p.post("deltas", fmt.Sprintf(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_%d","name":"get_weather","input":{}}}`, i))
	}
	p.card("get_weather", "cancelled", "a new attempt replaced it")
	p.card("get_weather", "building_args", "")
	follow := func(text, state string) {
		p.do(text, chromedp.Click(chromedp.Search(`//*[@id="timeline"]//button[.="`+text+`"]`)))
		p.wait("the card to which it leads", `document.activeElement.matches('.card[data-state=`+state+`]')`)
	}
	follow("Show the new attempt", "building_args")
	follow("Show the attempt before", "cancelled")
	p.quiet()
}

// pagePicture: a picture of the whole page shows the calls that are below the
// window.
func pagePicture(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "picture")
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`{"id":"msg_%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"A line of text"}}]}`, i))
	}
	p.post("deltas", "["+strings.Join(lines, ",")+"]")
	p.post("deltas", toolCall(0, "last_tool", `{"a":1}`))
	p.card("last_tool", "building_args", "")
	if got := eval[string](p, `[...document.querySelectorAll(".message > header")].filter((m) => !m.checkVisibility({contentVisibilityAuto: true})).length + " of " + document.querySelectorAll(".message").length`); !strings.HasPrefix(got, "0 of ") {
		t.Errorf("%s messages would be blank in a picture of the whole page", got)
	}
}
