package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/worker"
)

// TestProgressText checks what a step says of its speed and its end.
func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		p    worker.Progress
		want string
	}{
		{worker.Progress{What: "inputs", Done: 2000, Total: 8000}, "inputs: 2000 of 8000 (25 %), 1000 per second, 6s left"},
		{worker.Progress{What: "inputs", Done: 8000, Total: 8000}, "inputs: 8000 of 8000 (100 %), 4000 per second"},
		{worker.Progress{What: "snapshots", Done: 300}, "snapshots: 300, 150 per second"},
		{worker.Progress{What: "events", Total: 10}, "events: 0 of 10 (0 %), 0 per second"},
	} {
		if got := progressText(c.p, 2*time.Second); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.p, got, c.want)
		}
	}
}

// TestProgressLine checks that progress is shown twice a second at most, and
// removed at the end.
func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	l := progressLine{w: &out}
	now := time.UnixMilli(1000)
	for i := range 100 {
		l.show(worker.Progress{What: "inputs", Done: uint64(i), Total: 1000}, now.Add(time.Duration(i)*11*time.Millisecond))
	}
	if got := strings.Count(out.String(), "inputs: "); got != 2 {
		t.Errorf("in 1.1 s: shown %d times, want 2: %q", got, out.String())
	}
	l.clear()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("got %q, want the line to be removed", out.String())
	}
	var quiet progressLine
	quiet.clear() // without a terminal there is nothing to write to
}

// TestPrintReport checks that sessions without a usable snapshot are named, at
// most so many, and counted.
func TestPrintReport(t *testing.T) {
	r := worker.Report{Inputs: 9, Sessions: 30, Events: 50}
	for i := range 25 {
		r.Unreadable = append(r.Unreadable, worker.Unreadable{Token: fmt.Sprint("s", i), Why: "there is none"})
	}
	var out bytes.Buffer
	printReport(&out, &r)
	got := out.String()
	if strings.Count(got, "snapshot: there is none\n") != namedAtMost || !strings.Contains(got, "session s0: snapshot: there is none\n") {
		t.Errorf("got %q, want %d sessions named", got, namedAtMost)
	}
	for _, want := range []string{"... and 5 more sessions", "0 differ; 25 sessions have events and no snapshot that can be read\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
