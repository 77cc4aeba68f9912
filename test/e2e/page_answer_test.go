package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageAnswers: people answer calls that wait, with the mouse and with the keyboard, and
// others see the answer.
func pageAnswers(t *testing.T, web context.Context, home string) {
	p, other := openTab(t, web, "light"), openTab(t, web, "dark")
	p.open(home, "answers")
	other.open(home, "answers")
	var pieces []string
	for i, tool := range []string{"approved", "denied", "edited", "asked"} {
		pieces = append(pieces, fmt.Sprintf(`{"index":%d,"id":"call_%s","name":%q,"args":"{\"to\":\"x\"}"}`, i, tool, tool))
	}
	p.post("deltas", `{"event":"messages","data":[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[`+strings.Join(pieces, ",")+`],"chunk_position":"last"},{}]}`)
	p.post("deltas", `{"event":"updates","data":{"__interrupt__":[{"value":{"ask":"all"},"id":"i"}]}}`)
	p.card("asked", "awaiting_input", "Approve")
	ends := func(how, waiting string) {
		p.wait("the end of the run: "+how, fmt.Sprintf(`document.querySelector(".run-end strong").textContent === %q && document.querySelector(".run-end .why").textContent === %q`, how, waiting))
	}
	ends("Run paused, waiting for you", "")
	p.screenshot("answers")
	within := func(tool, what string) string {
		return fmt.Sprintf(`//*[@id="timeline"]//article[@data-tool=%q]//button[.=%q]`, tool, what)
	}
	p.do("approve", chromedp.Click(chromedp.Search(within("approved", "Approve"))))
	p.card("approved", "args_complete", "Approved.")
	other.card("approved", "args_complete", "Approved.")
	p.post("answer", `{"tool_call_id":"call_denied","decision":"deny","value":"too early","by":"ann"}`)
	p.card("denied", "denied", "Denied by ann: “too early”.")
	p.do("edit", chromedp.Click(chromedp.Search(within("edited", "Edit arguments"))))
	p.wait("the args", `document.activeElement.matches("textarea") && document.activeElement.value.includes('"to": "x"')`)
	eval[bool](p, `(document.activeElement.value = "[1]", true)`)
	p.do("send what is no object", chromedp.Click(chromedp.Search(within("edited", "Send"))))
	p.card("edited", "awaiting_input", "These arguments cannot be used: an object is needed")
	p.screenshot("answers-edit")
	eval[bool](p, `(document.querySelector('#timeline [data-tool="edited"] textarea').value = '{"to":"y"}', true)`)
	p.do("send the args", chromedp.Click(chromedp.Search(within("edited", "Send"))))
	later := openTab(t, web, "light")
	later.open(home, "answers")
	for _, page := range []*webPage{other, later} {
		page.card("edited", "args_complete", "Approved with other arguments.")
		page.wait("the args that the tool gets", `document.querySelector('#timeline [data-tool="edited"] .value').textContent.includes('"to": "y"')`)
		page.card("edited", "args_complete", "editedy") // its name, and what tells it from others
	}
	eval[bool](p, `(document.querySelector('#timeline [data-tool="asked"] .choices button:last-child').focus(), true)`)
	p.press("Enter")
	p.wait("the reply", `document.activeElement.matches("textarea")`)
	eval[bool](p, `(document.activeElement.value = "at noon", true)`)
	p.press("Tab", "Enter")
	other.card("asked", "args_complete", "Answered: “at noon”.")
	ends("Run paused", "3 calls still waiting for a result from outside")
	p.screenshot("answers-given")
	p.post("results", `{"tool_call_id":"call_edited","content":"sent"}`)
	p.post("interrupt", `{}`)
	p.card("asked", "cancelled", "stopped")
	p.post("results", `{"tool_call_id":"call_asked","tool_state":"stopped"}`)
	p.card("asked", "cancelled", "The tool stopped")
	p.quiet()
	other.quiet()
}
