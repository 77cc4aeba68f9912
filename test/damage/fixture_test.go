package damage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go/jetstream"
)

// fixture is a scenario and three copies of its data directory.
type fixture struct {
	all    []conversation
	early  string  // copied while the process ran, before the late inputs
	killed string  // after the late inputs and SIGKILL
	clean  string  // after the late inputs and SIGTERM
	events []event // the event log of killed and clean
}

// newFixture publishes the scenario. If blocks is set, one more session makes the
// input and event streams so large that each has a second block.
func newFixture(t *testing.T, blocks bool) *fixture {
	t.Helper()
	f := &fixture{all: scenario(), early: t.TempDir(), killed: t.TempDir(), clean: t.TempDir()}
	in := launch(t, f.killed)
	js := in.connect()
	in.publishAll(f.all, func(t *conversation) []input { return t.early })
	if blocks {
		in.publishAll([]conversation{filler()}, func(t *conversation) []input { return t.early })
	}
	in.settled(js)
	in.dead(js, "early")
	in.copyTo(f.early)
	in.dead(js, "late")
	in.publishAll(f.all, func(t *conversation) []input { return t.late })
	in.settled(js)
	var err error
	if f.events, err = in.events(js); err != nil {
		t.Fatal(err)
	}
	if n := len(openCallsIn(f.events)); n != open(f.all) {
		t.Fatalf("%d calls are open in the scenario, want %d\n%s", n, open(f.all), in.Log.String())
	}
	in.copyTo(f.clean)
	in.End(syscall.SIGKILL)
	end := launch(t, f.clean)
	end.settled(end.connect())
	end.End(syscall.SIGTERM)
	return f
}

// dead stores a dead letter, as a sink does for an event that it cannot deliver.
func (in *instance) dead(js jetstream.JetStream, session string) {
	in.t.Helper()
	_, err := js.CreateOrUpdateStream(in.t.Context(), jetstream.StreamConfig{Name: deadStream, Subjects: []string{broker.RootDead + ">"}})
	if err == nil {
		_, err = js.Publish(in.t.Context(), broker.RootDead+"hook."+session, []byte(`{"sink":"hook","session":"`+session+`"}`))
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

// filler is a session with 9 MiB of text.
func filler() conversation {
	t := conversation{session: "filler"}
	for i := range 12 {
		t.early = append(t.early, t.delta("text-"+strconv.Itoa(i), fmt.Sprintf(`{"content":%q}`, strings.Repeat("filler ", 110_000))))
	}
	return t
}

// publishAll publishes the selected inputs of all sessions at once, and those of
// each session in order.
func (in *instance) publishAll(all []conversation, which func(*conversation) []input) {
	in.t.Helper()
	errs := make(chan error, len(all))
	for i := range all {
		go func() { errs <- in.publishEach(all[i].session, which(&all[i])) }()
	}
	for range all {
		if err := <-errs; err != nil {
			in.t.Errorf("%v\n%s", err, in.Log.String())
		}
	}
}

// publishEach publishes the inputs of a session in order.
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
	in.until("snapshots and checkpoints", func() []string { return in.uncovered(js) })
}

// uncovered lists the sessions with inputs that neither a snapshot nor a
// checkpoint covers.
func (in *instance) uncovered(js jetstream.JetStream) (list []string) {
	ctx := in.t.Context()
	inputs, err1 := read(ctx, js, inputStream, false)
	states, err2 := read(ctx, js, snapshotStream, true)
	checkpoints, err3 := read(ctx, js, checkpointStream, true)
	if err := errors.Join(err1, err2, err3); err != nil { // the server may be starting
		return []string{err.Error()}
	}
	last, partition := map[string]time.Time{}, map[string]string{}
	for _, m := range inputs {
		if parts := strings.Split(m.subject, "."); len(parts) == 4 { // _llm.<partition>.<session>.<kind>
			last[parts[2]], partition[parts[2]] = m.at, parts[1]
		}
	}
	saved := map[string]time.Time{}
	for _, m := range states {
		ns, _ := strconv.ParseInt(m.header.Get("Streamer-Snapshot-At"), 10, 64) // an absent header is the zero time
		saved[m.subject[strings.LastIndexByte(m.subject, '.')+1:]] = time.Unix(0, ns)
	}
	positions := map[string]time.Time{}
	for _, m := range checkpoints {
		var checkpoint struct{ Read struct{ At time.Time } }
		if err := json.Unmarshal(m.data, &checkpoint); err != nil && len(m.data) > 0 {
			in.t.Fatalf("checkpoint %s: %v", m.subject, err)
		}
		positions[m.subject[strings.LastIndexByte(m.subject, '.')+1:]] = checkpoint.Read.At
	}
	for session, at := range last {
		if saved[session].Before(at) || positions[partition[session]].Before(at) {
			list = append(list, fmt.Sprintf("session %s: last input at %v, snapshot covers %v, checkpoint of its partition covers %v", session, at, saved[session], positions[partition[session]]))
		}
	}
	return list
}

// copyTo copies the data directory while the process is paused.
func (in *instance) copyTo(dir string) {
	in.t.Helper()
	in.Signal(syscall.SIGSTOP)
	err := os.CopyFS(dir, os.DirFS(in.dir))
	in.Signal(syscall.SIGCONT)
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
