package broker

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Each setting that weakens a guarantee has a warning, and no other has.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name  string
		opts  Options
		words []string // of each warning
	}{
		{"as it is made", Options{}, nil},
		{"kept for hardly longer", Options{InputAge: time.Hour, EventAge: 2*time.Hour + time.Minute}, []string{"only 1h1m0s longer than inputs"}},
		{"in memory", Options{Storage: "memory"}, []string{"when the server stops"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := start(t, c.opts).Warnings()
			ok := len(got) == len(c.words)
			for i := range min(len(got), len(c.words)) {
				ok = ok && strings.Contains(got[i], c.words[i])
			}
			if !ok {
				t.Errorf("%s: got %q, want %q", c.name, got, c.words)
			}
		})
	}
}

// Clients in the account of the streams have a warning.
func TestWarningOfSharedAccount(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	got := start(t, Options{URL: s.url(), Partitions: 1}).Warnings()
	if want := "default account $G"; len(got) != 1 || !strings.Contains(got[0], want) || !strings.Contains(got[0], "deploy/nats") {
		t.Errorf("a server without accounts: got %q, want %q and the remedy", got, want)
	}
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	if got := b.Warnings(); len(got) != 0 {
		t.Errorf("the embedded server: got %q, want none", got)
	}
	connect(t, b.URL())
	if got := start(t, Options{URL: b.OwnURL()}).Warnings(); len(got) != 0 {
		t.Errorf("clients in an account of theirs: got %q, want none", got)
	}
	connect(t, b.AgentURL())
	got = start(t, Options{URL: b.OwnURL()}).Warnings()
	if want := "other users (agent) are connected to the account STREAMER"; len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("an agent in the account of the streams: got %q, want %q", got, want)
	}
}

// A server that is too old is refused with the feature that it lacks.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"2.14.0": "", "2.15.2": "", "3.0.0-beta": "",
		"2.12.4": "goes on voting", "2.10.22": "no condition over all subjects", "1.4.1": "no condition",
		"": "not known", "dev": "not known",
	} {
		t.Run(version, func(t *testing.T) {
			got := ""
			if err := checkVersion(version); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%q: got %q, want %q", version, got, want)
			}
		})
	}
}

// A full input stream refuses new inputs and keeps the acknowledged ones. Its limit
// stays until another is configured.
func TestMaxBytes(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Options{Embed: embed(dir, ""), MaxBytes: 4 << 10})
	must(t, b, input("s", inputs.Delta, "1", make([]byte, 3<<10)))
	acks := make(chan Ack, 1)
	b.Publish(input("s", inputs.Delta, "2", make([]byte, 3<<10)), acks)
	testkit.UntilTrue(t, "a full stream", func() bool { return b.Counts().Resent > 0 })
	if got, err := b.Bounds(deadline(t), StreamInputs); got.First != 1 || got.Last != 1 || err != nil {
		t.Errorf("a full stream: got %d to %d, %v, want 1 to 1", got.First, got.Last, err)
	}
	b.Close()
	if a := <-acks; !errors.Is(a.Err, ErrClosed) {
		t.Errorf("got %v, want that it waits for space", a.Err)
	}
	b = start(t, Options{Embed: embed(dir, "")})
	b.Close()
	_, err := Open(deadline(t), Options{Embed: embed(dir, ""), MaxBytes: 2 << 10})
	if err == nil || !strings.Contains(err.Error(), "its limit of bytes is 4096, not 2048") {
		t.Errorf("a lower limit: got %v", err)
	}
	b = start(t, Options{Embed: embed(dir, ""), MaxBytes: 8 << 10})
	if seq := must(t, b, input("s", inputs.Delta, "2", make([]byte, 3<<10))); seq != 2 {
		t.Errorf("with a higher limit: got sequence %d, want 2", seq)
	}
}

// An input stream of a version without answers gets their subject. A tool that changes
// nothing is refused before.
func TestOlderSubjects(t *testing.T) {
	s := newTestServer(t)
	start(t, Options{URL: s.url(), Partitions: 1}).Close()
	nc, err := nats.Connect(s.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(deadline(t), StreamInputs)
	if err != nil {
		t.Fatal(err)
	}
	older := stream.CachedInfo().Config
	older.Subjects = slices.DeleteFunc(older.Subjects, func(s string) bool { return s == subjectAnswer || s == subjectResume })
	if _, err := js.UpdateStream(deadline(t), older); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(deadline(t), Options{URL: s.url(), Existing: true}); err == nil || !strings.Contains(err.Error(), "its subjects") {
		t.Errorf("a tool: got %v", err)
	}
	b := start(t, Options{URL: s.url()})
	must(t, b, input("s", inputs.Answer, "1", []byte(`{}`)))
	must(t, b, input("s", inputs.Resume, "2", []byte(`{}`)))
}

// The storage of existing streams is adopted.
func TestStorageIsAdopted(t *testing.T) {
	s := newTestServer(t)
	start(t, Options{URL: s.url(), Storage: "memory", Partitions: 1})
	start(t, Options{URL: s.url()})
	_, err := Open(deadline(t), Options{URL: s.url(), Storage: "file"})
	if err == nil || !strings.Contains(err.Error(), "its storage is Memory, not File") {
		t.Errorf("got %v, want a refusal", err)
	}
}
