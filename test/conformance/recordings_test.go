package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"streamer/internal/decode"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// recording is a recorded stream with what it must give.
type recording struct {
	file   string
	data   []byte
	format string // to name
	lines  bool   // JSON Lines
	want   expected

	unindexed bool // the indexes of calls are not listed
}

// expected is the content of an expected.json beside a recorded stream.
type expected struct {
	Format   string         `json:"format"`
	Calls    []expectedCall `json:"calls"`
	Messages *int           `json:"messages"`
	// Humans are the texts of the human messages; nil where they are not listed.
	Humans []string `json:"humans"`
	// Text is that of the messages, "" where it is not listed.
	Text string `json:"text"`
	// NameOpen: the names and args of calls are not compared.
	NameOpen bool `json:"name_open"`
	// HumanMessages are likewise the texts, or their number.
	HumanMessages json.RawMessage `json:"human_messages"`
	// Runs are the ends of the runs, of which some are not on the wire.
	Runs []expectedRun `json:"runs"`
	// Ambiguity states that other calls are right, too.
	Ambiguity string `json:"ambiguity"`
	// Ambiguous likewise, and what is read must not be wrong.
	Ambiguous bool `json:"ambiguous"`
	// Rejects: the recording holds garbage that may be rejected.
	Rejects bool `json:"rejects"`
}

// expectedRun is the end of a run: an object, or its text.
type expectedRun struct{ Ending *string }

func (r *expectedRun) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &r.Ending)
	}
	type plain expectedRun
	return json.Unmarshal(data, (*plain)(r))
}

type expectedCall struct {
	ID        *string         `json:"id"`
	Name      string          `json:"name"`
	ArgsJSON  string          `json:"args_json"`
	Args      any             `json:"args"`
	ArgsValid bool            `json:"args_valid"`
	Index     json.RawMessage `json:"index"`
	Kind      string          `json:"kind"`
	MessageID *string         `json:"message_id"`
	Complete  bool            `json:"complete"`
	NS        *string         `json:"ns"`
	Status    *string         `json:"status"` // of the call; in codex-exec, of the item
	Choice    *int            `json:"choice_index"`
	Parent    *string         `json:"parent"`
	Result    *expectedResult `json:"result"`
	ResStatus string          `json:"res_status"`
	Cancelled string          `json:"cancelled"` // why the call ends without a result
	Waited    bool            `json:"waited"`    // for a person
}

// expectedResult is the text of a result: its length in characters and the
// beginning of its SHA-256, "" where it is not listed.
type expectedResult struct {
	Error   bool `json:"error"`
	Aborted bool `json:"aborted"`
	// Intermediate: the call goes on, so the result is progress.
	Intermediate bool    `json:"intermediate"`
	Text         *string `json:"text"` // instead of its length and sum
	Chars        int     `json:"chars"`
	SHA256       string  `json:"sha256_8"`
}

func (r *expectedResult) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &r.Text)
	}
	type plain expectedResult
	return json.Unmarshal(data, (*plain)(r))
}

// complete converts the texts of the streams of agents.
func (e *expected) complete() {
	var texts []string
	if json.Unmarshal(e.HumanMessages, &texts) == nil {
		e.Humans = texts
	}
	for i := range e.Calls {
		if c := &e.Calls[i]; c.ArgsValid && c.Args == nil && json.Unmarshal([]byte(c.ArgsJSON), &c.Args) != nil {
			c.Args = c.ArgsJSON
		}
		if r := e.Calls[i].Result; r != nil && r.Text != nil {
			sum := sha256.Sum256([]byte(*r.Text))
			r.Chars, r.SHA256 = utf8.RuneCountInString(*r.Text), hex.EncodeToString(sum[:4])
		}
	}
}

// formatOf returns the format of a folder of recorded streams, "" if there is none:
// the format of that name, except for the folders of LangGraph and for streams that
// were recorded read by read.
func formatOf(folder string) string {
	name := folder
	switch folder {
	case "langgraph", "langgraph-sse", "langgraph-partial":
		name = "langchain"
	case "openai-chat-bytes":
		name = "openai-chat"
	case "responses-ws", "openai-realtime":
		name = "openai-responses"
	case "agents-sdk-js", "agents-sdk-py":
		name = "openai-agents"
	case "opencode-run", "opencode-sse":
		name = "opencode"
	case "pi-json":
		name = "pi"
	case "strands-js":
		name = "strands"
	}
	if !slices.Contains(decode.Names(), name) {
		return ""
	}
	return name
}

// decoders is the directory of the streams in the repository.
var decoders = filepath.Join("..", "..", "internal", "decode", "testdata")

// fixtures returns the directories of the streams in the repository whose calls are
// listed.
func fixtures(t *testing.T) (dirs []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(decoders, "*", "*.expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		dirs = append(dirs, filepath.Dir(file))
	}
	return slices.Compact(dirs)
}

// corpora returns the directories of the recorded streams outside of the repository,
// or skips the test.
func corpora(t *testing.T) (dirs []string) {
	t.Helper()
	dirs, err := filepath.Glob(testkit.Shared("formats", "corpus*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	agents, err := filepath.Glob(testkit.Shared("formats", agents, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range agents {
		if name := filepath.Base(dir); formatOf(name) != "" || name == minimal {
			dirs = append(dirs, dir)
		}
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return strings.HasSuffix(dir, ".md") })
	if len(dirs) == 0 {
		t.Skipf("no recorded streams in %s; STREAMER_SHARED names their place", testkit.Shared())
	}
	return dirs
}

// recordings returns the recorded streams in a directory.
func recordings(t *testing.T, dir string) (list []recording) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.expected.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in %s: %v", dir, err)
	}
	for _, file := range files {
		r := readRecording(t, strings.TrimSuffix(file, ".expected.json"))
		if r.format == "" && filepath.Base(dir) == minimal {
			continue // of a format that is not read
		}
		list = append(list, r)
	}
	return list
}

// agents is the folder of the recorded streams of agents and SDKs. Their lists do not have
// the indexes of calls. The folder minimal in it has streams of many formats.
const agents, minimal = "agents-2", "minimal"

// readRecording reads the recorded stream NAME.jsonl, NAME.sse or NAME.txt.
func readRecording(t *testing.T, name string) recording {
	t.Helper()
	var r recording
	text, err := os.ReadFile(name + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r.want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	r.unindexed = strings.Contains(filepath.ToSlash(name), "/"+agents+"/")
	if r.format = formatOf(r.want.Format); r.format == "" && !r.unindexed {
		t.Fatalf("%s: format %s is not one of %v", name, r.want.Format, decode.Names())
	}
	r.want.complete()
	for _, end := range []string{".jsonl", ".sse", ".txt"} {
		if r.data, err = os.ReadFile(name + end); err == nil {
			r.file, r.lines = name+end, jsonLines(r.data)
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.want.Format == "openai-chat-bytes" {
		r.data, r.lines = joinReads(t, r.data), false
	}
	return r
}

// jsonLines reports whether a text is JSON Lines.
func jsonLines(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '{' && line[0] != '[' {
			return false
		}
	}
	return true
}

// joinReads joins the pieces of a stream that was recorded read by read.
func joinReads(t *testing.T, data []byte) (text []byte) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var read struct{ Read string }
		if err := json.Unmarshal(line, &read); err != nil {
			t.Fatal(err)
		}
		b, err := base64.StdEncoding.DecodeString(read.Read)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	return text
}

// sse returns JSON Lines as raw SSE text, with [DONE] at the end or without.
func (r *recording) sse(done bool) []byte {
	var text []byte
	for line := range bytes.Lines(r.data) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			text = append(text, "data: "...)
			text = append(text, line...)
			text = append(text, "\n\n"...)
		}
	}
	if done {
		text = append(text, "data: [DONE]\n\n"...)
	}
	return text
}

// assemble folds a stream that arrives in pieces.
func assemble(format string, pieces ...[]byte) *session.Assembly {
	a := &session.Assembly{Format: format}
	for _, p := range pieces {
		a.Line(p)
	}
	a.End()
	return a
}
