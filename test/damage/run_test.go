package damage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// run is the test of one damage.
type run struct {
	t         *testing.T
	row       *row
	before    *fixture
	in        *instance
	dir       string
	broken    bool      // the damage was done while the process ran
	recovered time.Time // of the last `streamer recover --yes`
}

// recoverTime is longer than a partition takes to continue after a recovery. Then
// sessions that were held later need another one.
const recoverTime = 12 * time.Second

// stop is the way in which the process was ended before its files are damaged.
type stop string

const (
	killed  stop = "killed"  // SIGKILL: the server reads all blocks when it starts
	cleanly stop = "cleanly" // SIGTERM: the server trusts its index of the blocks
)

// damaged tests a row on a copy of the data directory of a process that was ended
// in the given way.
func (f *fixture) damaged(t *testing.T, r *row, how stop, do func(*data)) {
	u := &run{t: t, row: r, before: f, dir: t.TempDir()}
	from := f.killed
	if how == cleanly {
		from = f.clean
	}
	if err := os.CopyFS(u.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if do != nil {
		do(&data{t: t, dir: u.dir, early: f.early})
	}
	if !u.start() {
		return
	}
	if r.running != nil && !u.damageRunning() {
		return
	}
	u.finish()
}

// start starts the process and reports whether the test continues. It does not
// where the row expects that the start is refused.
func (u *run) start() bool {
	u.t.Helper()
	u.in = launch(u.t, u.dir)
	switch refused := u.in.page == ""; {
	case !refused && (u.row.refused == "" || u.row.running != nil && !u.broken):
		return true
	case !refused:
		u.t.Errorf("the process started, want a refusal with %q\n%s", u.row.refused, u.in.Log.String())
	case u.row.refused == "":
		u.t.Errorf("the start was refused\n%s", u.in.Log.String())
	default:
		if text := u.in.Log.String(); !strings.Contains(text, u.row.refused) || strings.Contains(text, "panic") {
			u.t.Errorf("the refusal does not contain %q:\n%s", u.row.refused, text)
		}
		if code := u.in.ExitCode(); code != 1 {
			u.t.Errorf("the refusal has exit status %d, want 1", code)
		}
	}
	return false
}

// damageRunning does the damage while the process runs. If the row has a text for
// /readyz, damageRunning waits for it and starts the process again. It reports
// whether the process runs.
func (u *run) damageRunning() bool {
	u.t.Helper()
	u.until("ready", func() []string { return nil })
	u.row.running(u)
	u.broken = true
	if u.row.down == "" {
		return true
	}
	u.in.until("the answer of /readyz", func() []string {
		if p := u.in.ready(); !strings.Contains(p, u.row.down) {
			return []string{fmt.Sprintf("%q, want %q", p, u.row.down)}
		}
		return nil
	})
	u.end()
	return u.start()
}

// finish closes all calls, checks what is stored, and returns the event log and the
// input log.
func (u *run) finish() (log []event, inputs []message) {
	js := u.in.connect()
	u.close(js)
	u.until("snapshots", func() []string { return u.in.uncovered(js) })
	if open := u.in.openListed(); open != 0 {
		u.t.Errorf("the list of sessions has %d calls open, want none", open)
	}
	u.in.waitEvents(js, "the event log", u.until, openCallsIn)
	log, inputs = u.stored(js)
	u.verify()
	u.end()
	u.check(log)
	return log, inputs
}

// stored returns the event log and the input log.
func (u *run) stored(js jetstream.JetStream) (log []event, inputs []message) {
	u.t.Helper()
	log, err1 := u.in.events(js)
	inputs, err2 := read(u.t.Context(), js, inputStream, false)
	if err := errors.Join(err1, err2); err != nil {
		u.t.Fatal(err)
	}
	return log, inputs
}

// close publishes the results of the open calls and closes all other calls.
func (u *run) close(js jetstream.JetStream) {
	u.t.Helper()
	published := make(chan struct{})
	go func() {
		u.in.publishAll(u.before.all, func(t *conversation) []input { return t.rest })
		close(published)
	}()
	u.until("publishing", func() []string {
		select {
		case <-published:
			return nil
		default:
			return []string{"not all results are acknowledged"}
		}
	})
	u.in.waitEvents(js, "results", u.until, func(log []event) []string { return unanswered(log, u.before.all) })
	u.in.publishAll(u.before.all, func(*conversation) []input { return []input{{"interrupt", "close", "{}"}} })
	u.in.waitEvents(js, "interrupts", u.until, openCallsIn)
}

// until waits until wrong returns nothing and the process is ready. If /readyz
// names `streamer recover`, until runs that command, and again if it is
// still named later.
func (u *run) until(what string, wrong func() []string) {
	u.t.Helper()
	u.in.until(what, func() []string {
		p := u.in.ready()
		if strings.Contains(p, "streamer recover") && time.Since(u.recovered) > recoverTime {
			u.recover()
		}
		if p != "" {
			return []string{"/readyz answers " + p}
		}
		return wrong()
	})
}

// recover runs `streamer recover`, first without --yes.
func (u *run) recover() {
	u.t.Helper()
	defer func() { u.recovered = time.Now() }()
	if !u.row.recover {
		u.t.Errorf("`streamer recover` is needed: %s\n%s", u.in.ready(), u.in.Log.String())
	}
	if status, text := command(u.t, u.dir, "recover"); status != 1 || !strings.Contains(text, "--yes") {
		u.t.Errorf("streamer recover: exit status %d\n%s", status, text)
	}
	if status, text := command(u.t, u.dir, "recover", "--yes"); status != 0 {
		u.t.Errorf("streamer recover --yes: exit status %d\n%s", status, text)
	}
}

// verify runs `streamer verify` and checks that it reports differences only of
// sessions that may differ.
func (u *run) verify() {
	u.t.Helper()
	status, text := command(u.t, u.dir, "verify")
	if status != 0 && status != 1 || !strings.Contains(text, "inputs folded again") {
		u.t.Errorf("streamer verify: exit status %d\n%s", status, text)
	}
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, ": the input log lost inputs of its events\n") {
			continue // it is not compared
		}
		rest, ok := strings.CutPrefix(line, "session ")
		session, _, _ := strings.Cut(rest, ",")
		if ok && !u.row.differ.has(u.before.all, session) {
			u.t.Errorf("streamer verify reports a difference of session %s\n%s", session, brief(text, session))
		}
	}
}

// brief returns the first lines of what verify reports about a session.
func brief(text, session string) string {
	_, rest, _ := strings.Cut(text, "session "+session+",")
	var lines []string
	for line := range strings.Lines(rest) {
		if lines = append(lines, line[:min(len(line), 300)]); len(lines) == 3 {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// check compares the event log with the log before the damage.
func (u *run) check(log []event) {
	u.t.Helper()
	for _, wrong := range disorder(u.before.events, log) {
		u.t.Error(wrong)
	}
	lost := 0
	for _, e := range missing(u.before.events, log) {
		if lost++; !u.row.lost.has(u.before.all, e.session) && lost < 5 {
			u.t.Errorf("lost: %.200s", e.line)
		}
	}
	text := u.in.Log.String()
	for _, bad := range []string{"panic", "fatal error", "goroutine "} {
		if strings.Contains(text, bad) {
			u.t.Errorf("the log of the process has %q\n%s", bad, text)
		}
	}
	if u.row.logged != "" && !strings.Contains(text, u.row.logged) {
		u.t.Errorf("the log of the process does not have %q\n%s", u.row.logged, text)
	}
}

// end stops the process cleanly.
func (u *run) end() {
	u.t.Helper()
	u.in.End(syscall.SIGTERM)
	if code := u.in.ExitCode(); code != 0 {
		u.t.Errorf("exit status %d after SIGTERM\n%s", code, u.in.Log.String())
	}
}

// scope is a set of sessions that a damage may affect.
type scope string

const (
	none     scope = ""
	anything scope = "any session"
	ofLate   scope = "sessions with inputs stored after the older copy"
	ofLarge  scope = "sessions with large values"
	oneOf    scope = "the session whose message was damaged"
)

// has reports whether a session is in the set.
func (s scope) has(all []conversation, session string) bool {
	switch s {
	case anything, oneOf:
		return true
	case ofLarge:
		return strings.HasPrefix(session, "large-")
	case ofLate:
		i := slices.IndexFunc(all, func(t conversation) bool { return t.session == session })
		return i < 0 || len(all[i].late) > 0
	}
	return false
}
