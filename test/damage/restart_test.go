package damage

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"streamer/test/testkit"
)

// TestResultsAfterRewind checks results after the files of the input log were
// replaced by a copy that is some seconds older. Twenty open calls began after the
// copy. Their results are published as soon as the port is open, and get sequences
// that the lost inputs had. Each result must still become an event.
func TestResultsAfterRewind(t *testing.T) {
	testkit.Campaign(t)
	t.Parallel()
	dir, early := t.TempDir(), t.TempDir()
	var all []conversation
	for i := range 20 {
		c := conversation{session: fmt.Sprintf("open-%d", i)}
		c.late = c.opens("c1", small)
		c.waits("c1")
		all = append(all, c)
	}
	before := conversation{session: "before"}
	before.early = append(before.opens("c1", small), before.result("c1"))

	in := launch(t, dir)
	js := in.connect()
	in.publishAll([]conversation{before}, func(t *conversation) []input { return t.early })
	in.settled(js)
	in.copyTo(early)
	in.publishAll(all, func(t *conversation) []input { return t.late })
	in.settled(js)
	in.End(syscall.SIGKILL)
	(&data{t: t, dir: dir, early: early}).rolledBack(inputStream)

	in = launch(t, dir)
	js = in.connect()
	in.publishAll(all, func(t *conversation) []input { return t.rest })
	log := in.waitEvents(js, "results", in.until, func(log []event) []string { return append(unanswered(log, all), openCallsIn(log)...) })
	for _, e := range log {
		if e.Type == "tool_call_result" && e.Status != "completed" {
			t.Errorf("call %s of session %s is %s, want completed", e.Call, e.session, e.Status)
		}
	}
	for _, wrong := range disorder(nil, log) {
		t.Error(wrong)
	}
	in.End(syscall.SIGTERM)
}

// lostSnapshots returns damages of the bucket with the snapshots by name. In a campaign
// there are three.
func lostSnapshots() map[string]func(*data) {
	all := map[string]func(*data){"deleted": func(d *data) { d.deleted(snapshotStream) }}
	if testkit.Campaigns() {
		all["truncated"] = func(d *data) { d.truncated(snapshotStream, 0) }
		all["flipped"] = func(d *data) { d.flippedMiddle(snapshotStream) }
	}
	return all
}

// countedOpen checks a start after the bucket with the snapshots was lost or damaged:
// the open calls are counted and listed, and an interrupt closes them.
func (f *fixture) countedOpen(t *testing.T, do func(*data)) {
	d := &data{t: t, dir: t.TempDir(), early: f.early}
	if err := os.CopyFS(d.dir, os.DirFS(f.killed)); err != nil {
		t.Fatal(err)
	}
	do(d)
	in := launch(t, d.dir)
	in.waitOpen(open(f.all))
	in.publishAll(f.all, func(*conversation) []input { return []input{{"interrupt", "close", "{}"}} })
	js := in.connect()
	in.waitEvents(js, "interrupts", in.until, openCallsIn)
	in.waitOpen(0)
	in.End(syscall.SIGTERM)
}

// waitOpen waits until the metrics and the list of sessions report want open
// calls.
func (in *instance) waitOpen(want int) {
	in.t.Helper()
	in.until("open calls", func() (wrong []string) {
		if got := in.openCalls(); got != float64(want) {
			wrong = append(wrong, fmt.Sprintf("streamer_calls_open is %v, want %d", got, want))
		}
		if got := in.openListed(); got != want {
			wrong = append(wrong, fmt.Sprintf("the list of sessions has %d open calls, want %d", got, want))
		}
		return wrong
	})
}
