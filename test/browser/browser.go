// Package browser starts a real browser for tests.
package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"streamer/test/testkit"

	"github.com/chromedp/chromedp"
)

// within bounds how long a browser takes to start, and a tab to open.
const within = 2 * time.Minute

// Start starts a browser with a new profile, which ends with the test, and returns
// the context of its first tab. If the test fails, the log of the browser, which
// includes the consoles of its pages, is logged. Where there is no browser the test
// is skipped, or fails if STREAMER_REQUIRE_BROWSER requires one.
func Start(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{os.Getenv("CHROME"), "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = cmp.Or(program, found)
		}
	}
	if program == "" {
		const what = "no browser found: set CHROME, or install chromium"
		if os.Getenv("STREAMER_REQUIRE_BROWSER") == "1" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	var log testkit.Tail
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the browser:\n%s", &log)
		}
	})
	ctx, stop, err := start(context.Background(), program, within, append(options, chromedp.CombinedOutput(&log)))
	t.Cleanup(stop)
	if err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	return ctx
}

// start starts a program within a limit. The caller calls stop, whatever start returns.
func start(ctx context.Context, program string, limit time.Duration, options []chromedp.ExecAllocatorOption) (tab context.Context, stop func(), err error) {
	options = append(options, chromedp.ExecPath(program), chromedp.Headless, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("enable-logging", "stderr"))
	for _, name := range []string{
		"no-sandbox", // root has none, and the page is trusted
		"disable-gpu", "disable-quic", "disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage", "disable-extensions", "disable-breakpad",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	tab, closeTab, err := open(ctx, limit)
	return tab, func() { closeTab(); end() }, err
}

// Tab opens an empty tab in the browser of a context, which is closed with the test.
func Tab(t *testing.T, web context.Context) context.Context {
	t.Helper()
	tab, stop, err := open(web, within)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal("new tab: ", err)
	}
	return tab
}

// open opens a tab within a limit, and starts the browser for the first one. The
// context has no deadline, because the tab would end at it.
func open(ctx context.Context, limit time.Duration) (tab context.Context, stop func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	tab, closeTab := chromedp.NewContext(ctx)
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("not open after %v", limit)) })
	defer timer.Stop()
	if err = chromedp.Do(tab); err != nil && !errors.Is(err, context.Cause(ctx)) {
		err = errors.Join(err, context.Cause(ctx))
	}
	return tab, func() { closeTab(); cancel(nil) }, err
}
