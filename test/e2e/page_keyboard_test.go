package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// focus is the expression for a name of the element that has the focus.
const focus = `((e) => e.id ? "#" + e.id : e.closest(".card") === e ? "call " + e.dataset.tool : e.tagName.toLowerCase() + " " + (e.getAttribute("aria-label") ?? e.textContent).slice(0, 40))(document.activeElement)`

// pageKeyboard: every control that is shown is reached with Tab and the arrow keys,
// and the focus is visible and never lost.
func pageKeyboard(t *testing.T, web context.Context, home string) {
	p := openTab(t, web, "light")
	p.open(home, "keyboard")
	for i, tool := range []string{"first_tool", "second_tool", "third_tool"} {
		p.post("deltas", toolCall(i, tool, `{"n":1}`))
	}
	p.post("deltas", finish)
	p.post("results", `{"tool_call_id":"call_2","content":"done"}`)
	p.card("third_tool", "completed", "done")
	p.card("first_tool", "args_complete", "")

	reached := p.tabs()
	for _, want := range p.controls(`:not(.card *)`) {
		if !slices.Contains(reached, want) && !strings.HasPrefix(want, "call ") {
			t.Errorf("Tab does not reach %q, only %q", want, reached)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(reached), func(s string) bool { return !strings.HasPrefix(s, "call ") })); n != 1 {
		t.Errorf("Tab reaches %d calls, want one: %q", n, reached)
	}

	// The arrow keys move the tab stop, and its call's controls follow it.
	eval[bool](p, `document.activeElement.blur(), true`)
	p.press("j")
	for _, want := range []string{"call first_tool", "call second_tool", "call third_tool", "call third_tool"} {
		if got := eval[string](p, focus); got != want {
			t.Errorf("the focus is on %q, want %q", got, want)
		}
		p.press("ArrowDown")
	}
	p.press("k")
	if got := eval[string](p, focus); got != "call second_tool" {
		t.Errorf("after k the focus is on %q, want the second call", got)
	}
	inside := p.tabs()
	for _, want := range p.controls(`.card[data-tool="second_tool"] *`) {
		if !slices.Contains(inside, want) {
			t.Errorf("Tab does not reach %q of the current call, only %q", want, inside)
		}
	}

	p.stopByKeys()
	p.sheetByKeys()
	p.quiet()
}

// tabs presses Tab until the focus is where it was first, and returns the names of
// the elements that had it.
func (p *webPage) tabs() (names []string) {
	p.t.Helper()
	first := ""
	for range 80 {
		p.press("Tab")
		got := eval[string](p, `document.activeElement === document.body ? "body" : `+focus)
		if got == first {
			return names
		}
		if first == "" && got != "body" {
			first = got
		}
		names = append(names, got)
	}
	p.t.Errorf("Tab does not come back to %q: %q", first, names)
	return names
}

// controls returns the names of the shown controls that match a selector.
func (p *webPage) controls(selector string) []string {
	p.t.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll("a, button, input, select, summary, [tabindex]")]
		.filter((e) => e.matches(%q) && e.checkVisibility() && !e.disabled).map((e) => %s)`, selector,
		strings.Replace(focus, "(document.activeElement)", "(e)", 1)))
}

// stopByKeys stops a call and then the run. The focus stays where it was.
func (p *webPage) stopByKeys() {
	p.t.Helper()
	eval[bool](p, `document.querySelector('.card[data-tool="second_tool"] .stop-call').focus(), true`)
	p.press("Enter")
	p.card("second_tool", "cancelled", "")
	if got := eval[string](p, focus); got != "button second_tool has ended" {
		p.t.Errorf("after a call was stopped the focus is on %q, want its button", got)
	}
	eval[bool](p, `document.querySelector("#stop").focus(), true`)
	p.press("Enter")
	p.card("first_tool", "cancelled", "")
	p.wait("the end of the run", `document.querySelector("#stop-text").textContent === "Stopped"`)
	if got := eval[string](p, focus); got != "#stop" {
		p.t.Errorf("after the run was stopped the focus is on %q, want the button", got)
	}
	p.press("Tab")
	p.wait("the button to leave", hidden("#stop"))
}

// sheetByKeys opens the sheet, closes it and turns the keys off.
func (p *webPage) sheetByKeys() {
	p.t.Helper()
	p.press("/")
	if got := eval[string](p, focus); got != "#find" {
		p.t.Errorf("after / the focus is on %q, want the search", got)
	}
	p.press("j", "?")
	if got := eval[string](p, `document.querySelector("#find").value`); got != "j?" {
		p.t.Errorf("keys in a field: got %q, want j?", got)
	}
	p.do("clear", chromedp.Clear(chromedp.CSS("#find")))
	eval[bool](p, `document.activeElement.blur(), true`)
	p.press("?")
	p.wait("the sheet", `document.querySelector("#keys")?.open`)
	p.do("turn the keys off", chromedp.Click(chromedp.CSS("#keys-on")))
	p.press("Escape")
	p.wait("the sheet to close", `!document.querySelector("#keys").open`)
	eval[bool](p, `document.activeElement.blur(), true`)
	p.press("f")
	if !eval[bool](p, hidden("#raw table")) {
		p.t.Error("f opened the frames although the keys are off")
	}
	p.press("?")
	p.do("turn the keys on", chromedp.Click(chromedp.CSS("#keys-on")))
	p.press("Escape")
	p.press("f")
	p.wait("the frames", shown("#raw table"))
	p.press("Escape")
	p.wait("no frames", hidden("#raw"))
}
