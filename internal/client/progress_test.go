package client

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/backup"
)

// TestProgressText checks the text of progress, rate and remaining time.
func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		p    audit.Progress
		want string
	}{
		{audit.Progress{What: "inputs", Done: 2000, Total: 8000}, "inputs: 2000 of 8000 (25 %), 1000 per second, 6s left"},
		{audit.Progress{What: "inputs", Done: 8000, Total: 8000}, "inputs: 8000 of 8000 (100 %), 4000 per second"},
		{audit.Progress{What: "snapshots", Done: 300}, "snapshots: 300, 150 per second"},
		{audit.Progress{What: "measurements", Done: 1, Total: 5, Note: "latency"}, "measurements: 1 of 5 (20 %), 30.0 per minute, 8s left; latency"},
		{audit.Progress{What: "events", Total: 10}, "events: 0 of 10 (0 %), 0 per second"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := progressText(c.p, 2*time.Second); got != c.want {
				t.Errorf("%+v: got %q, want %q", c.p, got, c.want)
			}
		})
	}
}

// TestProgressLine checks that progress is shown at most twice a second, and
// removed at the end.
func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	l := &ProgressLine{w: &out}
	now := time.UnixMilli(1000)
	for i := range 100 {
		l.Show(audit.Progress{What: "inputs", Done: uint64(i), Total: 1000}, now.Add(time.Duration(i)*11*time.Millisecond))
	}
	if got := strings.Count(out.String(), "inputs: "); got != 2 {
		t.Errorf("in 1.1 s: shown %d times, want 2: %q", got, out.String())
	}
	l.Clear()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("got %q, want the line to be removed", out.String())
	}
	none := NewProgressLine(&out) // no terminal
	out.Reset()
	none.Show(audit.Progress{What: "inputs"}, now)
	none.Clear()
	if out.Len() > 0 {
		t.Errorf("without a terminal: got %q, want nothing", out.String())
	}
}

// TestProgressOfBackup checks that a copied stream has a line of its own on the output,
// and that the progress is not on it.
func TestProgressOfBackup(t *testing.T) {
	var out, line bytes.Buffer
	r := (&ProgressLine{w: &line}).Backup(&out)
	r.Copied("LLM", 10, 100)
	done := backup.Stream{Name: "LLM", Messages: 3, Bytes: 100}
	r.Done(done)
	if out.String() != done.String()+"\n" || !strings.HasSuffix(line.String(), "\r\x1b[K") {
		t.Errorf("got %q and the progress %q, want the stream, and the progress to be removed", out.String(), line.String())
	}
}
