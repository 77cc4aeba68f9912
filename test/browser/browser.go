// Package browser starts a real browser for tests.
package browser

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// Start starts a browser with a new profile, which ends with the test, and returns
// the context of its first tab. Where there is no browser the test is skipped, or
// fails if STREAMER_REQUIRE_BROWSER requires one.
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
	options = append(options, chromedp.ExecPath(program), chromedp.Headless, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck)
	for _, name := range []string{
		"no-sandbox", // root has none, and the page is trusted
		"disable-gpu", "disable-quic", "disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage", "disable-extensions", "disable-breakpad",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	return ctx
}
