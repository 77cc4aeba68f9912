package damage

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// saveEvery is the --save-every of the process that fills a fixture of the matrix.
// It bounds the time to publish inputs that no snapshot covers.
const saveEvery = 4 * time.Second

// quietTime is the age of the covered inputs when the next ones are published. It
// is longer than the time for which a worker distrusts a snapshot.
const quietTime = 5 * time.Second

// The positions of the newest inputs.
const (
	covered = "covered" // snapshots and checkpoints cover all inputs
	behind  = "behind"  // the newest inputs are folded, and nothing covers them
)

// newMatrixFixtures publishes the sessions of the matrix and returns a fixture for
// each position of the newest inputs. What is not published before the damage is
// published after it, so that every fixture has the same inputs in the end.
func newMatrixFixtures(t *testing.T) map[string]*fixture {
	t.Helper()
	before := &fixture{early: t.TempDir(), killed: t.TempDir()}
	after := &fixture{all: matrixSessions(), early: before.early, killed: t.TempDir()}
	in := launch(t, after.killed, "--save-every", saveEvery.String())
	js := in.connect()
	in.publishAll(after.all, func(t *conversation) []input { return t.early })
	in.settled(js)
	in.copyTo(before.early)
	in.publishAll(after.all, func(t *conversation) []input { return t.late })
	in.settled(js)
	quiet := time.After(quietTime)
	in.copyTo(before.killed) // the files are those after SIGKILL
	var err error
	if before.events, err = in.events(js); err != nil {
		t.Fatal(err)
	}
	<-quiet

	in.publishAll(after.all, func(t *conversation) []input { return t.behind })
	after.events = in.waitEvents(js, "events", in.until, func(log []event) []string { return unfolded(log, after.all) })
	uncovered := strings.Join(in.uncovered(js), "\n")
	in.End(syscall.SIGKILL)
	for i := range after.all {
		if c := &after.all[i]; len(c.behind) > 0 && !strings.Contains(uncovered, "session "+c.session+":") {
			t.Fatalf("session %s was saved before the process was killed\n%s", c.session, in.Log.String())
		}
	}
	for _, c := range after.all {
		c.rest = slices.Concat(c.behind, c.rest)
		c.answers = slices.Concat(c.replies(c.behind), c.answers)
		before.all = append(before.all, c)
	}
	return map[string]*fixture{covered: before, behind: after}
}

// matrixSessions returns twenty sessions.
func matrixSessions() (all []conversation) {
	add := func(n int, kind string, fill func(t *conversation)) {
		for i := range n {
			t := conversation{session: fmt.Sprintf("%s-%d", kind, i)}
			fill(&t)
			all = append(all, t)
		}
	}
	large := strings.Repeat("large ", 30_000)
	add(8, "next", func(t *conversation) {
		t.early, t.late, t.behind = t.opens("c1", small), []input{t.result("c1")}, t.opens("c2", small)
		t.waits("c2")
	})
	add(3, "building", func(t *conversation) {
		c2 := t.opens("c2", small)
		t.early, t.late, t.behind = t.opens("c1", small), append([]input{t.result("c1")}, c2[0]), c2[1:]
		t.waits("c2")
	})
	add(3, "closing", func(t *conversation) {
		t.early, t.behind = t.opens("c1", small), append([]input{t.result("c1")}, t.opens("c2", small)...)
		t.waits("c2")
	})
	add(2, "beginning", func(t *conversation) { t.behind = t.opens("c1", small); t.waits("c1") })
	add(2, "waiting", func(t *conversation) {
		t.early, t.late = t.opens("c1", small), append([]input{t.result("c1")}, t.opens("c2", small)...)
		t.waits("c2")
	})
	add(2, "large", func(t *conversation) {
		t.early, t.late, t.behind = t.opens("c1", large), []input{t.result("c1")}, t.opens("c2", large)
		t.waits("c2")
	})
	return all
}

// replies returns the results among inputs.
func (t *conversation) replies(inputs []input) (list []reply) {
	for _, in := range inputs {
		if id, ok := strings.CutPrefix(in.key, "result-"); ok {
			list = append(list, reply{id, "early result of " + id})
		}
	}
	return list
}

// unfolded lists the sessions whose published messages and results are not all in
// the event log.
func unfolded(log []event, all []conversation) (list []string) {
	count := map[string]int{}
	for _, e := range log {
		if e.Type == "message_finished" || e.Type == "tool_call_result" && !e.synthetic {
			count[e.session]++
		}
	}
	for i := range all {
		want := 0
		for _, in := range slices.Concat(all[i].early, all[i].late, all[i].behind) {
			if strings.HasPrefix(in.key, "end-") || strings.HasPrefix(in.key, "result-") {
				want++
			}
		}
		if got := count[all[i].session]; got != want {
			list = append(list, fmt.Sprintf("session %s has %d ends of messages and calls, want %d", all[i].session, got, want))
		}
	}
	return list
}
