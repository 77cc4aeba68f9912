package sseui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// TestStreams folds each recorded stream to its event log, once as it is and once
// with an interrupt in the middle, and passes all logs to test/streams.mjs, which
// checks the states of the page against them.
func TestStreams(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the states of the page were not checked")
	}
	var logs bytes.Buffer
	out := bufio.NewWriter(&logs)
	for _, file := range recordedStreams(t) {
		lines := readLines(t, file)
		writeLog(t, out, filepath.Base(file), fold(lines, -1))
		if len(lines) > 1 {
			writeLog(t, out, filepath.Base(file)+" interrupted", fold(lines, len(lines)/2))
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	const script = "test/streams.mjs"
	if _, err := os.Stat(script); err != nil { // which makes it an input of the cached result
		t.Fatal(err)
	}
	cmd := exec.Command(node, script)
	cmd.Stdin = &logs
	report, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, report)
	}
	t.Logf("%s", report)
}

// recordedStreams returns the streams of the repository, and those outside of it if they are
// available.
func recordedStreams(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{
		filepath.Join("..", "..", "internal", "decode", "testdata", "*", "*.jsonl"),
		testkit.Shared("formats", "corpus*", "*", "*.*"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".json") || strings.HasSuffix(f, ".md") })
	if len(files) < 200 {
		t.Fatalf("found %d streams, want at least 200", len(files))
	}
	return files
}

func readLines(t *testing.T, file string) (lines [][]byte) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := inputs.NewLines(f, inputs.MaxLine)
	for {
		line, err := in.Next()
		if len(line) > 0 {
			lines = append(lines, bytes.Clone(line))
		}
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// fold returns the events of a stream whose lines arrive every 10 ms, with an interrupt
// after the given number of lines; -1 for none.
func fold(lines [][]byte, interrupt int) []events.Event {
	var a session.Assembly
	for i, line := range lines {
		at := time.Second + time.Duration(i)*10*time.Millisecond
		if i == interrupt {
			a.Input(inputs.Interrupt, at, []byte(`{"reason":"user"}`))
		}
		a.Input(inputs.Delta, at, line)
	}
	a.End()
	return a.Events
}

// writeLog writes the name of a log, its events in the form of frames.
func writeLog(t *testing.T, out io.Writer, name string, list []events.Event) {
	t.Helper()
	enc := json.NewEncoder(out)
	must := func(v any) {
		if err := enc.Encode(v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	must(map[string]any{"log": name})
	for i := range list {
		body, err := list[i].Body()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		must(map[string]any{"event": list[i].Type, "id": i + 1, "data": string(body)})
	}
}
