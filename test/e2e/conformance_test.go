package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"streamer/internal/app"
	"streamer/internal/decode"
	"streamer/internal/session"
)

// expected is the content of an expected.json beside a recorded stream.
type expected struct {
	Format    string         `json:"format"`
	Ambiguous bool           `json:"ambiguous"`
	Calls     []expectedCall `json:"calls"`
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
	Choice    *int            `json:"choice_index"`
	Status    *string         `json:"status"`
}

// formatOf returns the format of a folder of recorded streams, "" if there is none:
// the format of that name, except for the folders of LangGraph and for streams that
// were recorded read by read.
func formatOf(folder string) string {
	switch folder {
	case "langgraph", "langgraph-sse", "langgraph-partial":
		return "langchain"
	case "openai-chat-bytes":
		return "openai-chat"
	}
	if slices.Contains(decode.Names(), folder) {
		return folder
	}
	return ""
}

// TestQuirks: the quirk streams in the repository give exactly the expected calls,
// with a named format and without.
func TestQuirks(t *testing.T) {
	conform(t, filepath.Join("..", "..", "internal", "decode", "testdata", "quirks"))
}

// TestCorpora: so do the recorded streams outside of the repository, if they are
// available.
func TestCorpora(t *testing.T) {
	dir := corpusDir()
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded streams at %s; STREAMER_SHARED names their place", dir)
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) { conform(t, filepath.Join(dir, folder.Name())) })
	}
}

// corpusDir returns the directory of the recorded streams.
func corpusDir() string {
	root := os.Getenv("STREAMER_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	return filepath.Join(root, "formats", "corpus")
}

func conform(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in %s: %v", dir, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".jsonl"), func(t *testing.T) {
			var want expected
			data, err := os.ReadFile(strings.TrimSuffix(f, ".jsonl") + ".expected.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			format := formatOf(want.Format)
			if format == "" {
				t.Fatalf("format %s is not one of %v", want.Format, decode.Names())
			}
			stream := readStream(t, f, want.Format)
			for _, named := range []string{"", format} {
				a, err := app.Assemble(bytes.NewReader(stream), named)
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if err := app.WriteCalls(&out, a.Calls()); err != nil {
					t.Fatal(err)
				}
				if err := compare(out.Bytes(), want.Calls); err != nil {
					t.Errorf("format %q: %v", named, err)
				}
			}
		})
	}
}

// readStream returns the bytes of a stream. It joins the pieces of a stream that
// was recorded read by read.
func readStream(t *testing.T, file, format string) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if format != "openai-chat-bytes" {
		return data
	}
	var text []byte
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

func compare(out []byte, want []expectedCall) error {
	var got []session.AssembledCall
	for line := range bytes.Lines(out) {
		var c session.AssembledCall
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		got = append(got, c)
	}
	var wrong []string
	if len(got) != len(want) {
		wrong = append(wrong, fmt.Sprintf("%d calls, want %d", len(got), len(want)))
	}
	for i := range min(len(got), len(want)) {
		wrong = append(wrong, compareCall(i, got[i], want[i])...)
	}
	if wrong != nil {
		return fmt.Errorf("%s\n got %s", strings.Join(wrong, "\n"), out)
	}
	return nil
}

func compareCall(i int, got session.AssembledCall, want expectedCall) (wrong []string) {
	check := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			wrong = append(wrong, fmt.Sprintf("call %d: %s is %#v, want %#v", i, what, got, want))
		}
	}
	check("id_synthesized", got.IDSynthesized, want.ID == nil)
	if want.ID != nil {
		check("id", got.ID, *want.ID)
	}
	var args any
	if err := json.Unmarshal(got.Args, &args); err != nil {
		wrong = append(wrong, fmt.Sprintf("call %d: args: %v", i, err))
	}
	index := string(want.Index)
	if index == "" {
		index = "null"
	}
	kind := want.Kind
	if kind == "unnamed" {
		kind = got.Kind
	}
	check("name", got.Name, want.Name)
	check("args_text", got.ArgsText, want.ArgsJSON)
	check("args_valid", got.ArgsValid, want.ArgsValid || want.Kind == "custom") // free text is valid as it is
	if want.ArgsValid && want.Kind != "custom" {
		check("args", args, want.Args)
	}
	check("index", string(got.Index), index)
	check("kind", got.Kind, kind)
	if want.MessageID != nil {
		check("message_id", got.MessageID, *want.MessageID)
	}
	check("complete", got.Complete, want.Complete)
	if want.Choice != nil {
		check("choice", got.Choice, *want.Choice)
	}
	if want.Status != nil {
		check("status", string(got.Status), *want.Status)
	}
	if want.NS != nil {
		check("namespace", got.Namespace, *want.NS)
	}
	return wrong
}
