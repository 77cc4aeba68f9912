package rewind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/broker/inputlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"
	"streamer/test/testkit"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

type inputsOf = inputlog.Log

// testLog is a broker with its input log.
type testLog struct {
	*broker.Broker
	*inputsOf
	t *testing.T
}

// open opens the broker of a data directory, which is closed at the end of the test at
// the latest.
func open(t *testing.T, dir string, partitions int) testLog {
	t.Helper()
	b, err := broker.Open(brokertest.Deadline(t), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: dir}), Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() }) // a test that goes on without it has closed it
	return testLog{b, inputlog.New(b), t}
}

// publish appends inputs and returns them as they are stored. A name is that of a
// session, or with a number a later input of one: "a", "a2".
func (l testLog) publish(names ...string) (list []inputs.Input) {
	l.t.Helper()
	for _, name := range names {
		header := inputs.Header{"Streamer-Format": {"openai"}, "Nats-Expected-Stream": {broker.StreamInputs}}
		token := strings.TrimRight(name, "0123456789")
		seq := brokertest.Must(l.t, l.Broker, l.InputPub(token, inputs.Delta, name+strconv.FormatInt(time.Now().UnixNano(), 10), header, []byte(name)))
		list = append(list, l.at(seq))
	}
	return list
}

func (l testLog) at(seq uint64) inputs.Input {
	l.t.Helper()
	in, ok, err := l.Input(l.t.Context(), seq)
	if err != nil || !ok {
		l.t.Fatal(seq, ok, err)
	}
	return in
}

// names returns the inputs of a partition in the log's order: sequence and name.
func (l testLog) names(p int) (list []string) {
	l.t.Helper()
	err := l.InputsFrom(l.t.Context(), p, 1, false, func(batch []inputs.Input) error {
		for _, in := range batch {
			list = append(list, fmt.Sprintf("%d %s", in.Seq, in.Data))
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return list
}

func (l testLog) check(p int, known []Evidence, want State) Verdict {
	l.t.Helper()
	v, err := Check(l.t.Context(), l, p, known)
	if err != nil || v.State != want {
		l.t.Fatalf("got %+v, %v, want state %d", v, err, want)
	}
	return v
}

// evidence returns that of snapshots: session and time.
func evidence(ins ...inputs.Input) (list []Evidence) {
	for i := range ins {
		list = append(list, Evidence{N: ins[i].Seq, Token: ins[i].Token, At: ins[i].At})
	}
	return list
}

// lost returns a log that lost its end: before is stored, then lost, then the log comes
// back without them.
func lost(t *testing.T, partitions int, before, lost []string) (l testLog, kept, gone []inputs.Input) {
	t.Helper()
	dir, saved := t.TempDir(), t.TempDir()
	files := filepath.Join(dir, "jetstream", "jetstream", "STREAMER", "streams", "LLM")
	first := open(t, dir, partitions)
	kept = first.publish(before...)
	err := errors.Join(first.Close(), os.CopyFS(saved, os.DirFS(files)))
	second := open(t, dir, partitions)
	gone = second.publish(lost...)
	if err := errors.Join(err, second.Close(), os.RemoveAll(files), os.CopyFS(files, os.DirFS(saved))); err != nil {
		t.Fatal(err)
	}
	return open(t, dir, partitions), kept, gone
}

func TestEvidence(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 6_700_000, time.UTC)
	in := inputs.Input{Seq: 5, Token: "a", Kind: inputs.Delta, At: at}
	probe := inputs.Input{Seq: 5, Kind: inputs.Probe, At: at}
	event := EventEvidence(&events.Record{ID: events.ID{Seq: 5}, Token: "a", At: at.Add(time.Hour), Data: []byte(`{"timestamp":"2030-01-02T03:04:05.006Z"}`)})
	for _, c := range []struct {
		e                Evidence
		in               inputs.Input
		conclusive, same bool
	}{
		{Evidence{N: 5}, in, false, true},
		{Evidence{N: 6}, in, false, false},
		{Evidence{N: 5, At: at}, in, true, true},
		{Evidence{N: 5, At: at.Add(1)}, in, true, false},
		{Evidence{N: 5, At: at}, probe, true, true}, // it was the last that was read
		{Evidence{N: 5, Token: "a", Until: at}, probe, true, false},
		{Evidence{N: 5, Token: "a"}, in, false, true},
		{Evidence{N: 5, Token: "b", Until: at}, in, true, false},
		{Evidence{N: 5, Token: "a", Until: at}, in, true, true},
		{Evidence{N: 5, Token: "a", Until: at.Add(-1)}, in, true, false},
		{event, in, true, true},
	} {
		t.Run(fmt.Sprint(c.e), func(t *testing.T) {
			if got := c.e.Is(&c.in); got != c.same || c.e.conclusive() != c.conclusive {
				t.Errorf("%+v: is the input %v, conclusive %v, want %v, %v", c.e, got, c.e.conclusive(), c.same, c.conclusive)
			}
		})
	}
}

// Nothing is known, or the newest that is known is there.
func TestSame(t *testing.T) {
	l := open(t, t.TempDir(), 1)
	ins := l.publish("a", "b", "a2", "c")
	l.check(0, nil, Same)
	l.check(0, evidence(ins...), Same)
	l.check(0, []Evidence{{N: 4}, {N: 2, At: ins[1].At}}, Same)
	l.check(0, []Evidence{{N: 5}}, Shorter)
	// An input that was deleted is no sign of a loss.
	for range 2 { // it is no error to delete one twice
		if err := l.DeleteInput(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
	}
	l.publish("d")
	l.check(0, evidence(ins...), Same)
}

// Verify reports whether what a reader has read is still there.
func TestVerify(t *testing.T) {
	l, kept, gone := lost(t, 1, []string{"a", "b"}, []string{"a2"})
	for _, c := range []struct {
		read Evidence
		same bool
	}{
		{Evidence{}, true},
		{Evidence{N: 2, At: kept[1].At}, true},
		{Evidence{N: 2, At: gone[0].At}, false},
		{Evidence{N: 3, At: gone[0].At}, false},
	} {
		t.Run(fmt.Sprintf("input %d, the same %v", c.read.N, c.same), func(t *testing.T) {
			if err := Verify(t.Context(), l, c.read); (err == nil) != c.same || err != nil && !errors.Is(err, ErrOther) {
				t.Errorf("%+v: got %v, want the same: %v", c.read, err, c.same)
			}
		})
	}
	if err := l.DeleteInput(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), l, evidence(kept[0])[0]); err != nil {
		t.Errorf("deleted: got %v, want no error", err)
	}
}

// The log is filled until it is as long as before, and then is the same to those that
// know of the lost inputs.
func TestPad(t *testing.T) {
	l, kept, gone := lost(t, 1, []string{"a", "b"}, []string{"c", "a2", "c2"})
	known := evidence(append(kept, gone...)...)
	if v := l.check(0, known, Shorter); v.Need != 5 || v.Last != 2 || v.Lost.N != 5 {
		t.Errorf("got %+v, want need 5, last 2", v)
	}
	for range 2 {
		if err := Pad(t.Context(), l, 5); err != nil {
			t.Fatal(err)
		}
	}
	l.check(0, known, Same)
	if in := l.publish("a3"); in[0].Seq != 6 {
		t.Errorf("the next input is at %d, want 6", in[0].Seq)
	}
	l.check(0, known, Same)
	l.check(0, []Evidence{EventEvidence(&events.Record{ID: events.ID{Seq: 5}, Token: "c", At: gone[2].At})}, Same)
	if err := Pad(t.Context(), l, 1<<40); err == nil || !strings.Contains(err.Error(), "ends at 6") {
		t.Errorf("a distance of %d: got %v, want a refusal", 1<<40, err)
	}
}

func BenchmarkPad(b *testing.B) {
	l := brokertest.Start(b, broker.Options{})
	log := testLog{Broker: l, inputsOf: inputlog.New(l)}
	for need := uint64(10_000); b.Loop(); need += 10_000 {
		if err := Pad(b.Context(), log, need); err != nil {
			b.Fatal(err)
		}
	}
}

// Another partition's inputs are at the sequences of lost ones. That does no harm, as
// numbers belong to a partition.
func TestOtherPartition(t *testing.T) {
	l, kept, gone := lost(t, 2, []string{"a"}, []string{"a2", "a3", "b"})
	p, other := l.Partition("a"), l.Partition("b")
	if p == other {
		t.Fatal("both sessions are in one partition")
	}
	since := l.publish("b2", "b3", "b4", "a4")
	l.check(p, evidence(kept[0], gone[0], gone[1]), Same)
	v := l.check(other, evidence(gone[2]), Replaced)
	if v.First != 2 || v.Through != 4 {
		t.Errorf("got %+v, want first 2, through 4", v)
	}
	r, err := Repair(t.Context(), l, other, evidence(gone[2]), false)
	if err != nil || r.Inputs != 3 || r.Moved != 3 {
		t.Fatalf("got %+v, %v, want 3 inputs moved", r, err)
	}
	if got, want := l.names(other), []string{"6 b2", "7 b3", "8 b4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := l.names(p), []string{"1 a", "5 a4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: another partition's", got, want)
	}
	l.check(other, evidence(gone[2]), Same)
	l.check(p, evidence(kept[0], gone[0], gone[1], since[3]), Same)
}

// dying is a log whose process dies after a number of changes.
type dying struct {
	testLog
	left int
}

var errDead = errors.New("dead")

func (d *dying) die() bool { d.left--; return d.left < 0 }

func (d *dying) Publish(p *broker.Pub, acks chan<- broker.Ack) {
	if d.die() {
		acks <- broker.Ack{Pub: p, Err: errDead}
		return
	}
	d.testLog.Publish(p, acks)
}

func (d *dying) DeleteInput(ctx context.Context, seq uint64) error {
	if d.die() {
		return errDead
	}
	return d.testLog.DeleteInput(ctx, seq)
}

// Whenever the command dies, the partition remains stopped until another run has
// completed it, each input is there once, and those of a session are in order.
func TestRepairInterrupted(t *testing.T) {
	for _, since := range [][]string{
		{"x", "a3"},                               // it is still shorter
		{"x", "a3", "a4", "y", "x2", "a5"},        // it is longer, and not all are at such sequences
		{"x", "x2", "x3", "x4", "x5", "x6", "x7"}, // several of one session
	} {
		for n, complete := 0, false; !complete; n += testkit.Of(3, 1) {
			t.Run(fmt.Sprintf("%d inputs, dies after %d changes", len(since), n), func(t *testing.T) {
				complete = repairInterrupted(t, since, n)
			})
		}
	}
}

// repairInterrupted reports whether Repair was complete after n changes.
func repairInterrupted(t *testing.T, since []string, n int) bool {
	l, kept, gone := lost(t, 1, []string{"a", "b"}, []string{"c", "a2", "c2", "d"})
	l.publish(since...)
	known := evidence(append(kept, gone...)...)
	dry, err := Repair(t.Context(), l, 0, known, true)
	if err != nil || dry.First != 3 || dry.Through != 6 || dry.Inputs != min(len(since), 4) || dry.Pads != uint64(max(4-len(since), 0)) {
		t.Fatalf("got %+v, %v, want what would be done", dry, err)
	}
	_, err = Repair(t.Context(), &dying{l, n}, 0, known, false)
	if err != nil && !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	want := []string{"a", "b"}
	want = append(want, since...)
	if err != nil {
		if v, err := Check(t.Context(), l, 0, known); err != nil || v.State == Same {
			t.Fatalf("interrupted: got %+v, %v, want one that is not the same", v, err)
		}
		l.publish("x8", "n")
		want = append(want, "x8", "n")
		if _, err := Repair(t.Context(), l, 0, known, false); err != nil {
			t.Fatal(err)
		}
	}
	l.check(0, known, Same)
	want = append(want, l.publish("z")[0].Token)
	got := l.names(0)
	for i, name := range got {
		no, name, _ := strings.Cut(name, " ")
		if seq, _ := strconv.Atoi(no); i > 1 && seq <= 6 {
			t.Errorf("input %s is still at %d", name, seq)
		}
		got[i] = name
	}
	for _, token := range []string{"a", "b", "n", "x", "y", "z"} {
		of := func(list []string) (of []string) {
			for _, name := range list {
				if strings.HasPrefix(name, token) {
					of = append(of, name)
				}
			}
			return of
		}
		if !slices.Equal(of(got), of(want)) {
			t.Errorf("session %s: got %v, want %v", token, of(got), of(want))
		}
	}
	in := l.at(l.last() - 1)
	if in.Header.Get("Streamer-Format") != "openai" || len(in.Header) > 3 {
		t.Errorf("got header %v, want that of the client", in.Header)
	}
	return err == nil
}

func (l testLog) last() uint64 {
	_, last, err := l.InputBounds(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return last
}

// Clients go on publishing while inputs are moved: those of moved sessions stay in order.
func TestRepairWhilePublishing(t *testing.T) {
	l, kept, gone := lost(t, 1, []string{"a"}, make20("a", 2))
	l.publish("a100", "b100")
	busy := &busy{testLog: l}
	if _, err := Repair(t.Context(), busy, 0, evidence(append(kept, gone...)...), false); err != nil {
		t.Fatal(err)
	}
	l.check(0, evidence(gone...), Same)
	var got []string
	for _, name := range l.names(0) {
		if _, name, _ = strings.Cut(name, " "); strings.HasPrefix(name, "a") {
			got = append(got, name)
		}
	}
	if want := []string{"a", "a100", "a101", "a102", "a103"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// make20 returns 20 names.
func make20(token string, from int) (list []string) {
	for i := range 20 {
		list = append(list, token+strconv.Itoa(from+i))
	}
	return list
}

// busy is a log to which a session's client publishes just before the first inputs are
// appended again.
type busy struct {
	testLog
	n int
}

func (b *busy) Publish(p *broker.Pub, acks chan<- broker.Ack) {
	if p.Subject != broker.SubjectProbe && b.n < 3 {
		b.n++
		b.publish("a" + strconv.Itoa(100+b.n))
	}
	b.testLog.Publish(p, acks)
}

// The clock of the server was wrong, so that times show nothing: the lost inputs that are
// known bound where it began.
func TestWrongClock(t *testing.T) {
	for name, shift := range map[string]time.Duration{"set back": time.Hour, "set ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			l, kept, gone := lost(t, 1, []string{"a", "c"}, []string{"a2", "a3"})
			l.publish("b", "b2", "b3")
			known := evidence(gone...)
			for i := range known {
				known[i].At = known[i].At.Add(shift)
			}
			known = append(known, evidence(kept...)...)
			if v := l.check(0, known, Replaced); v.First != 3 || v.Through != 4 {
				t.Errorf("got %+v, want first 3, through 4", v)
			}
			if _, err := Repair(t.Context(), l, 0, known, false); err != nil {
				t.Fatal(err)
			}
			l.check(0, known, Same)
			if got, want := l.names(0), []string{"1 a", "2 c", "6 b", "7 b2", "8 b3"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
