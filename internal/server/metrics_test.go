package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/sink"
	"streamer/internal/telemetry"
	"streamer/internal/worker"

	"github.com/prometheus/client_golang/prometheus"
)

// TestMetricNames: each metric has a unique name and a line of help, and is
// documented.
func TestMetricNames(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	server := open(t, t.TempDir())
	server.sink = new(sink.Sink)
	seen := map[string]bool{}
	for _, m := range server.metrics(t.Context()) {
		short, ours := strings.CutPrefix(m.Name, "streamer_")
		switch {
		case !ours || !regexp.MustCompile(`^[a-z_]+$`).MatchString(short):
			t.Errorf("%s: want streamer_ and lower-case letters", m.Name)
		case seen[m.Name]:
			t.Errorf("%s: twice", m.Name)
		case !strings.HasSuffix(m.Help, ".") || strings.Contains(m.Help, "\n"):
			t.Errorf("%s: help %q, want one sentence", m.Name, m.Help)
		case !regexp.MustCompile("`" + short + "[`{]").Match(doc):
			t.Errorf("%s: docs/operations.md does not mention it", m.Name)
		}
		seen[m.Name] = true
	}
	for _, name := range histograms(t) {
		if short := strings.TrimPrefix(name, "streamer_"); !regexp.MustCompile("`" + short + "[`{]").Match(doc) {
			t.Errorf("%s: docs/operations.md does not mention it", name)
		}
	}
	if len(seen) < 20 {
		t.Errorf("got %d metrics, want all", len(seen))
	}
}

// histograms returns the names of the histograms of calls.
func histograms(t *testing.T) (names []string) {
	t.Helper()
	c := telemetry.NewCalls(0)
	c.EventStored(worker.Stored{Type: events.ToolCallResult, Status: events.Completed, Body: []byte(`{"args_ms":1,"run_ms":1,"duration_ms":1}`)})
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil || len(families) != 6 {
		t.Fatalf("%d families, error %v, want 6", len(families), err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

// TestNotFolded checks the lag of a partition in messages.
func TestNotFolded(t *testing.T) {
	for _, c := range []struct {
		carried    worker.Carried
		last, want uint64
	}{
		{worker.Carried{Next: 3}, 10, 8},
		{worker.Carried{Next: 11}, 10, 0},
		{worker.Carried{Next: 12}, 10, 0}, // the end was read before
		{worker.Carried{Next: 3, CaughtUp: true}, 10, 0},
		{worker.Carried{}, 0, 0}, // nothing is known yet
	} {
		t.Run(fmt.Sprint(c.carried), func(t *testing.T) {
			if got := notFolded(c.carried, c.last); got != c.want {
				t.Errorf("%+v, last %d: got %d, want %d", c.carried, c.last, got, c.want)
			}
		})
	}
}
