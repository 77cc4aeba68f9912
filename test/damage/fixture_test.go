package damage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// fixture is the data directory of a scenario, at three moments.
type fixture struct {
	all    []talk
	early  string  // copied while it ran, before the late inputs
	killed string  // after the late inputs, and kill -9
	clean  string  // the same after SIGTERM
	events []event // the log of killed and clean
}

// newFixture plays the scenario. Where blocks is set, one more session makes
// the streams of inputs and events so large that they have a second block.
func newFixture(t *testing.T, blocks bool) *fixture {
	t.Helper()
	f := &fixture{all: scenario(), early: t.TempDir(), killed: t.TempDir(), clean: t.TempDir()}
	in := launch(t, f.killed)
	js := in.connect()
	in.publishAll(f.all, func(t *talk) []input { return t.early })
	if blocks {
		in.publishAll([]talk{filler()}, func(t *talk) []input { return t.early })
	}
	in.settled(js)
	in.copyTo(f.early)
	in.publishAll(f.all, func(t *talk) []input { return t.late })
	in.settled(js)
	f.events = readEvents(t, js)
	if n := len(unclosed(f.events)); n != open(f.all) {
		t.Fatalf("%d calls are open in the scenario, want %d\n%s", n, open(f.all), in.log.text())
	}
	in.copyTo(f.clean)
	in.end(syscall.SIGKILL)
	end := launch(t, f.clean)
	end.settled(end.connect())
	end.end(syscall.SIGTERM)
	return f
}

// filler is a session with 9 MiB of text.
func filler() talk {
	t := talk{session: "filler"}
	for i := range 12 {
		t.early = append(t.early, t.delta("text-"+strconv.Itoa(i), fmt.Sprintf(`{"content":%q}`, strings.Repeat("filler ", 110_000))))
	}
	return t
}

// publishAll publishes inputs of all sessions, each session's in order.
func (in *instance) publishAll(all []talk, which func(*talk) []input) {
	in.t.Helper()
	errs := make(chan error, len(all))
	for i := range all {
		go func() { errs <- in.publishEach(all[i].session, which(&all[i])) }()
	}
	for range all {
		if err := <-errs; err != nil {
			in.t.Errorf("%v\n%s", err, in.log.text())
		}
	}
}

func (in *instance) publishEach(session string, inputs []input) error {
	for _, i := range inputs {
		if err := in.publish(session, i); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until every input is covered by a snapshot and a checkpoint.
func (in *instance) settled(js jetstream.JetStream) {
	in.t.Helper()
	waitFor(in.t, in, "snapshots and checkpoints", func() []string { return in.unsaved(js) })
}

// unsaved lists the sessions with inputs that neither a snapshot nor a
// checkpoint covers.
func (in *instance) unsaved(js jetstream.JetStream) (list []string) {
	last, partition := map[string]uint64{}, map[string]string{}
	for _, m := range read(in.t, js, inputStream, false) {
		if parts := strings.Split(m.subject, "."); len(parts) == 4 { // _llm.<partition>.<session>.<kind>
			last[parts[2]], partition[parts[2]] = m.seq, parts[1]
		}
	}
	saved := map[string]uint64{}
	for _, m := range read(in.t, js, stateStream, true) {
		n, _ := strconv.ParseUint(m.header.Get("Streamer-State-Input"), 10, 64)
		saved[m.subject[strings.LastIndexByte(m.subject, '.')+1:]] = n
	}
	marks := map[string]uint64{}
	for _, m := range read(in.t, js, markStream, true) {
		var mark struct{ Seq uint64 }
		if err := json.Unmarshal(m.data, &mark); err != nil {
			in.t.Fatalf("checkpoint %s: %v", m.subject, err)
		}
		marks[m.subject[strings.LastIndexByte(m.subject, '.')+1:]] = mark.Seq
	}
	for session, seq := range last {
		if saved[session] < seq || marks[partition[session]] <= seq {
			list = append(list, fmt.Sprintf("session %s has input %d, its snapshot %d, its partition's checkpoint %d", session, seq, saved[session], marks[partition[session]]))
		}
	}
	return list
}

// copyTo copies the data directory as it is at one moment.
func (in *instance) copyTo(dir string) {
	in.t.Helper()
	in.signal(syscall.SIGSTOP)
	err := os.CopyFS(dir, os.DirFS(in.dir))
	in.signal(syscall.SIGCONT)
	if err != nil {
		in.t.Fatal(err)
	}
}

// streamDir returns the directory of a stream.
func streamDir(t *testing.T, dir, stream string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "jetstream", "jetstream", "*", "streams", stream))
	if err != nil || len(found) != 1 {
		t.Fatalf("the directory of stream %s: %q %v", stream, found, err)
	}
	return found[0]
}
