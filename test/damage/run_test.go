package damage

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// run is one damage and what comes of it.
type run struct {
	t         *testing.T
	row       *row
	before    *fixture
	in        *instance
	dir       string
	broken    bool // it was damaged while it ran
	recovered bool
}

// stop is how the process ended whose files are damaged.
type stop string

const (
	killed  stop = "killed"  // SIGKILL: the server reads all blocks when it starts
	cleanly stop = "cleanly" // SIGTERM: it believes its index of them
)

// damaged plays a row on a copy of the data directory of a process that was
// ended in a way.
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

// start launches the process and reports whether it goes on: a row may want the
// start to be refused.
func (u *run) start() bool {
	u.t.Helper()
	u.in = launch(u.t, u.dir)
	switch refused := u.in.page == ""; {
	case !refused && (u.row.refused == "" || u.row.running != nil && !u.broken):
		return true
	case !refused:
		u.t.Errorf("it started, want a refusal with %q\n%s", u.row.refused, u.in.log.text())
	case u.row.refused == "":
		u.t.Errorf("the start was refused\n%s", u.in.log.text())
	default:
		if text := u.in.log.text(); !strings.Contains(text, u.row.refused) || strings.Contains(text, "panic") {
			u.t.Errorf("the refusal does not contain %q:\n%s", u.row.refused, text)
		}
		if code := u.in.cmd.ProcessState.ExitCode(); code != 1 {
			u.t.Errorf("the refusal has exit status %d, want 1", code)
		}
	}
	return false
}

// damageRunning damages what the process uses. Where a row says what /readyz
// then says, the process is started again. It reports whether it runs.
func (u *run) damageRunning() bool {
	u.t.Helper()
	u.until("ready", func() []string { return nil })
	u.row.running(u)
	u.broken = true
	if u.row.down == "" {
		return true
	}
	waitFor(u.t, u.in, "what /readyz says", func() []string {
		if p := u.in.ready(); !strings.Contains(p, u.row.down) {
			return []string{fmt.Sprintf("%q, want %q", p, u.row.down)}
		}
		return nil
	})
	u.end()
	return u.start()
}

// finish publishes what the open calls wait for, closes the rest and checks what
// is then stored.
func (u *run) finish() {
	js := u.in.connect()
	published := make(chan struct{})
	go func() {
		u.in.publishAll(u.before.all, func(t *talk) []input { return t.rest })
		close(published)
	}()
	u.until("publishing", func() []string {
		select {
		case <-published:
			return nil
		default:
			return []string{"results are not answered"}
		}
	})
	u.in.waitEvents(js, "results", u.until, func(log []event) []string { return unanswered(log, u.before.all) })
	u.in.publishAll(u.before.all, func(*talk) []input { return []input{{"interrupt", "close", "{}"}} })
	u.in.waitEvents(js, "interrupts", u.until, unclosed)
	u.until("snapshots", func() []string { return u.in.unsaved(js) })
	if open := u.in.openListed(); open != 0 {
		u.t.Errorf("the list of sessions has %d calls open, want none", open)
	}
	log := u.in.waitEvents(js, "the event log", u.until, unclosed)
	u.verify()
	u.end()
	u.check(log)
}

// until waits until nothing is wrong and the process is ready. Where /readyz
// names `streamer recover`, it is run.
func (u *run) until(what string, wrong func() []string) {
	u.t.Helper()
	waitFor(u.t, u.in, what, func() []string {
		p := u.in.ready()
		if strings.Contains(p, "streamer recover") && !u.recovered {
			u.recover()
		}
		if p != "" {
			return []string{"/readyz says " + p}
		}
		return wrong()
	})
}

// recover runs `streamer recover`, first without --yes.
func (u *run) recover() {
	u.t.Helper()
	u.recovered = true
	if !u.row.recover {
		u.t.Errorf("it has to be recovered: %s\n%s", u.in.ready(), u.in.log.text())
	}
	if status, text := command(u.t, u.dir, "recover"); status != 1 || !strings.Contains(text, "--yes") {
		u.t.Errorf("streamer recover: exit status %d\n%s", status, text)
	}
	if status, text := command(u.t, u.dir, "recover", "--yes"); status != 0 {
		u.t.Errorf("streamer recover --yes: exit status %d\n%s", status, text)
	}
}

// verify runs `streamer verify` and checks that only sessions differ that may.
func (u *run) verify() {
	u.t.Helper()
	status, text := command(u.t, u.dir, "verify")
	if status != 0 && status != 1 || !strings.Contains(text, "inputs folded again") {
		u.t.Errorf("streamer verify: exit status %d\n%s", status, text)
	}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "session ")
		session, _, _ := strings.Cut(rest, ",")
		if ok && !u.row.differ.has(u.before.all, session) {
			u.t.Errorf("streamer verify reports a difference of session %s\n%s", session, brief(text, session))
		}
	}
}

// brief returns what verify says of a session, cut.
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

// check compares the event log with that from before the damage.
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
	text := u.in.log.text()
	for _, bad := range []string{"panic", "fatal error", "goroutine "} {
		if strings.Contains(text, bad) {
			u.t.Errorf("its log has %q\n%s", bad, text)
		}
	}
	if u.row.says != "" && !strings.Contains(text, u.row.says) {
		u.t.Errorf("its log does not have %q\n%s", u.row.says, text)
	}
}

// end stops the process cleanly.
func (u *run) end() {
	u.t.Helper()
	u.in.end(syscall.SIGTERM)
	if code := u.in.cmd.ProcessState.ExitCode(); code != 0 {
		u.t.Errorf("exit status %d after SIGTERM\n%s", code, u.in.log.text())
	}
}

// some are sessions of which something may be lost.
type some string

const (
	none     some = ""
	anything some = "any session"
	ofLate   some = "sessions with inputs from after the copy"
	ofLarge  some = "sessions with large values"
	oneOf    some = "the session whose message was damaged"
)

func (s some) has(all []talk, session string) bool {
	switch s {
	case anything, oneOf:
		return true
	case ofLarge:
		return strings.HasPrefix(session, "large-")
	case ofLate:
		i := slices.IndexFunc(all, func(t talk) bool { return t.session == session })
		return i < 0 || len(all[i].late) > 0
	}
	return false
}
