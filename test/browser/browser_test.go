package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/test/testkit"

	"github.com/chromedp/chromedp"
)

// TestSilentBrowser checks that a browser that never answers is an error, and that what
// it wrote is known.
func TestSilentBrowser(t *testing.T) {
	program := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho began >&2\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log testkit.Tail
	_, stop, err := start(t.Context(), program, 500*time.Millisecond, []chromedp.ExecAllocatorOption{chromedp.CombinedOutput(&log)})
	stop()
	if err == nil || !strings.Contains(err.Error(), "not open after 500ms") {
		t.Errorf("got error %v, want one that states the limit", err)
	}
	if got := log.String(); !strings.Contains(got, "began") {
		t.Errorf("got log %q, want the text that the program wrote", got)
	}
}
