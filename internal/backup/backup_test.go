package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/natsserver"

	"github.com/nats-io/nats.go/jetstream"
)

// TestRestoreRefused: what is not a complete backup is refused, and so is a damaged
// one.
func TestRestoreRefused(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	js, err := jetstream.New(b.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream(t, js, broker.StreamDead, broker.RootDead+"hook.s")
	dir := filepath.Join(t.TempDir(), "backup")
	if err := Create(brokertest.Deadline(t), b, dir, Report{}); err != nil {
		t.Fatal(err)
	}
	if err := Create(brokertest.Deadline(t), b, dir, Report{}); err == nil || !strings.Contains(err.Error(), dir+" exists: name a directory that does not exist") {
		t.Errorf("a second backup: got %v", err)
	}
	to, into := t.TempDir(), ""
	restore := func(dir string) error {
		into = ""
		report := Report{Into: func(server string) { into = server }}
		return Restore(brokertest.Deadline(t), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: to})}, dir, report)
	}
	var all manifest
	files, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if err := readJSON(files, manifestFile, &all); err != nil || len(all.Streams) != len(copied) || all.Partitions != b.Partitions() {
		t.Errorf("got %+v, %v", all, err)
	}
	data := filepath.Join(dir, broker.StreamInputs, dataFile)
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), broker.StreamInputs) {
		t.Errorf("a truncated stream: got %v", err)
	}
	if err := os.WriteFile(data, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err != nil || !strings.HasPrefix(into, "the NATS server streamer at nats://127.0.0.1:") { // the failed one has left nothing
		t.Errorf("a complete backup: error %v, into %q", err, into)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), "exists") || into != "" {
		t.Errorf("a second restore: got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, manifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), "not a complete backup") {
		t.Errorf("an incomplete backup: got %v", err)
	}
}

// TestRestoreForeign: a backup that was edited changes nothing that exists, and is
// refused with what is wrong in it.
func TestRestoreForeign(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	to := brokertest.NewServer(t)
	opts := broker.Options{URL: to.URL()}
	js := brokertest.JetStream(t, to.URL())
	orders := stream(t, js, "ORDERS", "orders")
	for name, test := range map[string]struct {
		file, old, new string // an edit of a file of the backup
		want           string
	}{
		"a stream that exists":    {manifestFile, `"stream": "LLM"`, `"stream": "ORDERS"`, `names the stream "ORDERS"`},
		"a stream that is twice":  {manifestFile, `"stream": "LLM"`, `"stream": "TOOLCALLS"`, `names the stream "TOOLCALLS"`},
		"a path":                  {manifestFile, `"stream": "LLM"`, `"stream": "../LLM"`, `names the stream "../LLM"`},
		"a stream that is absent": {manifestFile, `"streams": [`, `"streams": [], "other": [`, "lacks the streams KV_STREAMER_CHECKPOINT, KV_STREAMER_SNAPSHOT, TOOLCALLS, STREAMER_BLOBS, LLM"},
		"another configuration":   {"LLM/" + streamFile, `"name": "LLM"`, `"name": "ORDERS"`, `the configuration is that of a stream "ORDERS"`},
		"other subjects":          {"LLM/" + streamFile, `"_llm.\u003e"`, `"orders.new"`, `has the subject "orders.new"; need one of llm., _llm.`},
		"another destination":     {"TOOLCALLS/" + streamFile, `"dest": "toolcalls.\u003e"`, `"dest": "orders.\u003e"`, `has the subject "orders.\u003e"`},
		"a source":                {"TOOLCALLS/" + streamFile, `"name": "TOOLCALLS"`, `"name": "TOOLCALLS", "sources": [{"name": "ORDERS"}]`, "the stream copies another one"},
		"no configuration":        {"TOOLCALLS/" + streamFile, `"config":`, `"other":`, `the configuration is that of a stream ""`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "backup")
			if err := Create(brokertest.Deadline(t), b, dir, Report{}); err != nil {
				t.Fatal(err)
			}
			edit(t, filepath.Join(dir, test.file), test.old, test.new)
			err := Restore(brokertest.Deadline(t), opts, dir, Report{Into: func(string) { t.Error("the restore began") }})
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(test.want, `\u003e`, ">")) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			unchanged(t, orders)
		})
	}
	t.Run("a link", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "backup")
		if err := Create(brokertest.Deadline(t), b, dir, Report{}); err != nil {
			t.Fatal(err)
		}
		outside := filepath.Join(t.TempDir(), "LLM")
		if err := os.Rename(filepath.Join(dir, "LLM"), outside); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, "LLM")); err != nil {
			t.Skip(err) // a system without links
		}
		if err := Restore(brokertest.Deadline(t), opts, dir, Report{}); err == nil || !strings.Contains(err.Error(), "LLM") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a stream that is created meanwhile", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "backup")
		if err := Create(brokertest.Deadline(t), b, dir, Report{}); err != nil {
			t.Fatal(err)
		}
		var other jetstream.Stream
		err := Restore(brokertest.Deadline(t), opts, dir, Report{Into: func(string) { other = stream(t, js, "LLM", "llm.x.delta") }})
		if err == nil || !strings.Contains(err.Error(), "restore of stream LLM") {
			t.Errorf("got %v", err)
		}
		unchanged(t, other)
		for name := range js.StreamNames(t.Context()).Name() {
			if name != "ORDERS" && name != "LLM" {
				t.Errorf("the restore has left the stream %s", name)
			}
		}
	})
}

// stream creates a stream with one message.
func stream(t *testing.T, js jetstream.JetStream, name, subject string) jetstream.Stream {
	t.Helper()
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, []byte("1")); err != nil {
		t.Fatal(err)
	}
	return s
}

func unchanged(t *testing.T, s jetstream.Stream) {
	t.Helper()
	before := s.CachedInfo()
	now, err := s.Info(t.Context())
	if err != nil || now.State.Msgs != 1 || !now.Created.Truncate(time.Millisecond).Equal(before.Created.Truncate(time.Millisecond)) {
		t.Errorf("the stream %s has changed: %+v, %v", before.Config.Name, now, err)
	}
}

func edit(t *testing.T, file, before, after string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), before) {
		t.Fatalf("%s lacks %s:\n%s", file, before, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
