package examples_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"streamer/test/browser"
	"streamer/test/testkit"

	"github.com/chromedp/chromedp"
)

// chatText is a script that returns what the chat shows: a line for each text, and for each call its tool and state.
const chatText = `[...document.querySelectorAll(".messages li")].flatMap((li) => [...li.children].map((part) => li.dataset.role + ": " +
	(part.matches(".tool") ? part.dataset.tool + " " + ((part.firstChild.shadowRoot?.querySelector(".card")?.dataset.state ?? part.textContent)) : part.textContent.trim()))).join("\n")`

// TestChat uses the chat in Chromium as a person does, in two tabs of which each shows what the other does.
func TestChat(t *testing.T) {
	t.Parallel()
	requireNode(t, "chat")
	web := browser.Start(t)
	dir := t.TempDir()
	page, server := serveChat(t, dir, "6")
	one, two := openChat(t, web, page), openChat(t, web, page)

	one.ask("weather")
	const weather = "user: weather\nassistant: Let me look.\nassistant: weather completed\nassistant: weather: \"4 °C and rain in Bergen\"."
	one.shows(weather)
	two.shows(weather)

	one.ask("mail")
	const asked = weather + "\nuser: mail\nassistant: Let me look.\nassistant: sendMail "
	one.shows(asked + "awaiting_input")
	two.shows(asked + "awaiting_input")
	one.screenshot("approval")
	two.click("Approve")
	const sent = asked + "completed\nassistant: sendMail: \"sent\"."
	two.shows(sent)
	one.shows(sent)

	one.ask("mail")
	const again = sent + "\nuser: mail\nassistant: Let me look.\nassistant: sendMail "
	two.shows(again + "awaiting_input")
	one.shows(again + "awaiting_input")
	one.reload()
	one.shows(again + "awaiting_input")
	one.click("Deny")
	const denied = again + "denied\nassistant: sendMail: denied."
	one.shows(denied)
	two.shows(denied)

	one.ask("report")
	const report = denied + "\nuser: report\nassistant: Let me look.\nassistant: writeReport "
	two.shows(report + "args_complete")
	one.wait("the progress", cardHas("writeReport", "part 1 of 10"))
	one.reload()
	one.shows(report + "args_complete")
	one.wait("the progress", cardHas("writeReport", " of 10"))
	one.screenshot("report")
	one.stop()
	for _, tab := range []*chatTab{one, two, openChat(t, web, page)} {
		tab.shows(report + "cancelled")
		tab.wait("the end", `document.querySelector("main").dataset.status === "ready"`)
	}
	one.do("the waterfall", chromedp.Click(chromedp.CSS("summary")))
	one.screenshot("stopped")
	if log := server.Log.String(); strings.Count(log, "sent a mail") != 1 || strings.Contains(log, "wrote a report") {
		t.Errorf("the tools log\n%s", log)
	}

	other, _ := serveChat(t, dir, "1") // with another log
	stored := openChat(t, web, other)
	stored.wait("the stored messages", fmt.Sprintf(`(%s).startsWith(%q)`, chatText, "user: weather\nassistant: Let me look.\nassistant: weather weather: \"4 °C"))
	stored.wait("the end of the stopped call", fmt.Sprintf(`(%s).includes("writeReport: Tool call writeReport")`, chatText))
}

// serveChat starts the chat with a new server, whose messages are stored in a directory. A report takes a number of seconds.
func serveChat(t *testing.T, dir, seconds string) (page string, server *testkit.Process) {
	t.Helper()
	http, _ := serve(t)
	cmd := exec.Command("node", "--preserve-symlinks", "server.js")
	cmd.Dir, cmd.Env = "chat", append(os.Environ(), "STREAMER_URL="+http, "PORT=0", "CHAT_DIR="+dir, "CHAT_REPORT_SECONDS="+seconds, "AI_GATEWAY_API_KEY=")
	server = testkit.StartCommand(t, cmd)
	page = server.Page()
	if page == "" {
		t.Fatalf("the chat has ended\n%s", server.Log.String())
	}
	return page, server
}

// chatTab is a tab with the chat.
type chatTab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // a tab is a context to chromedp
}

func openChat(t *testing.T, web context.Context, page string) *chatTab {
	t.Helper()
	tab := &chatTab{t, browser.Tab(t, web)}
	tab.do("open", chromedp.Navigate(page+"/?chat=trip"))
	tab.live()
	return tab
}

func (c *chatTab) do(what string, a chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, within)
	defer cancel()
	if _, err := chromedp.Run(ctx, a); err != nil {
		c.t.Fatalf("%s: %v\n%s", what, err, c.text())
	}
}

func (c *chatTab) text() string {
	c.t.Helper()
	text, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](chatText))
	if err != nil {
		return err.Error()
	}
	return text
}

func (c *chatTab) wait(what, condition string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, within)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingTimeout(0))); err != nil {
		c.t.Fatalf("waiting for %s: %v\nthe page shows\n%s", what, err, c.text())
	}
}

// shows waits until the chat shows a text.
func (c *chatTab) shows(text string) {
	c.t.Helper()
	c.wait("the text\n"+text, fmt.Sprintf("(%s) === %q", chatText, text))
}

func (c *chatTab) live() {
	c.t.Helper()
	c.wait("the session", `document.querySelector("main")?.dataset.connection === "live"`)
}

func (c *chatTab) reload() {
	c.t.Helper()
	c.do("reload", chromedp.Reload())
	c.live()
}

// ask types a message and clicks Send.
func (c *chatTab) ask(text string) {
	c.t.Helper()
	c.wait("the form", `document.querySelector("form button")?.textContent === "Send"`)
	c.do("type", chromedp.SendKeys(chromedp.CSS("form input"), text))
	c.do("send", chromedp.Click(chromedp.CSS("form button")))
}

func (c *chatTab) stop() {
	c.t.Helper()
	c.wait("the button", `document.querySelector("form button").textContent === "Stop"`)
	c.do("stop", chromedp.Click(chromedp.CSS("form button")))
}

// click clicks a button of the last card.
func (c *chatTab) click(text string) {
	c.t.Helper()
	button := fmt.Sprintf(`[...[...document.querySelectorAll(".tool")].at(-1).firstChild.shadowRoot.querySelectorAll("button")].find((b) => b.textContent === %q)`, text)
	c.wait(text, button)
	c.do(text, chromedp.Evaluate[chromedp.Void]("void "+button+".click()"))
}

// cardHas is a condition: the last card of a tool has a text.
func cardHas(tool, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('.tool[data-tool="%s"]')].at(-1)?.firstChild.shadowRoot?.textContent.includes(%q)`, tool, text)
}

// screenshot stores pictures of the page, if STREAMER_SCREENSHOT_DIR is set.
func (c *chatTab) screenshot(name string) {
	c.t.Helper()
	dir := os.Getenv("STREAMER_SCREENSHOT_DIR")
	if dir == "" {
		return
	}
	for _, width := range []int64{390, 1440} {
		c.do("the size of the window", chromedp.EmulateViewport(width, 900))
		data, err := chromedp.Run(c.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("chat-%s-%d.png", name, width)), data, 0o644)
		}
		if err != nil {
			c.t.Error("screenshot: ", err)
		}
	}
}
