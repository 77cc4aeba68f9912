package decode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/wire"
)

// owners returns the formats that may claim the events of a folder of recorded
// streams surely: the format of that name, and the exceptions.
func owners(folder string) (names []string) {
	if find(folder) != nil {
		names = append(names, folder)
	}
	switch folder {
	case "mistral":
		names = append(names, "openai-chat")
	case "langgraph", "langgraph-sse", "langgraph-partial":
		names = append(names, "langchain")
	}
	return names
}

// TestRecordedEventsAreClaimedByOwner checks that no format claims a recorded event
// of another format.
func TestRecordedEventsAreClaimedByOwner(t *testing.T) {
	for _, file := range glob(t, shared(t, "formats", "corpus"), "*/*.jsonl") {
		folder := filepath.Base(filepath.Dir(file))
		names := owners(folder)
		if len(names) == 0 {
			t.Fatalf("%s is of no format: name the folder like a format, or add it to owners", folder)
		}
		for _, event := range frames(t, file) {
			for _, format := range formats {
				if name := format.Name; !slices.Contains(names, name) && format.Claims(event.frame) == wire.Surely {
					t.Errorf("%s: %.200s\nis of %q, and %s claims it", file, event.text, names, name)
				}
			}
		}
	}
}

// TestLangChainClaims checks that the format langchain claims all of its recorded
// events surely, and an event of another format only where no other format does.
func TestLangChainClaims(t *testing.T) {
	root := shared(t, "formats")
	own := 0
	for _, file := range append(glob(t, root, "corpus/*/*.jsonl"), glob(t, root, "quirks/*.jsonl")...) {
		want := wire.No
		if slices.Contains(owners(folderOf(t, file)), "langchain") {
			want = wire.Surely
		}
		for _, event := range frames(t, file) {
			got := find("langchain").Claims(event.frame)
			if got == wire.IfNoOther && want == wire.No {
				continue
			}
			if got != want {
				t.Errorf("%s\nevent %.200s\nclaim %d, want %d", file, event.text, got, want)
			}
			if want == wire.Surely {
				own++
			}
		}
	}
	if own == 0 {
		t.Error("no event is of this format")
	}
}

// recordedEvent is an event of a recorded stream.
type recordedEvent struct {
	text  string
	frame wire.Frame
}

// frames returns the events of a file that are one JSON text per line. Inputs with
// several events are left out.
func frames(t *testing.T, file string) (list []recordedEvent) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if f, problem := frameOf(framing.Event{Text: text}); problem == nil {
			list = append(list, recordedEvent{text, f})
		}
	}
	return list
}

// glob returns the files that match a pattern.
func glob(t *testing.T, root, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams %s in %s: %v", pattern, root, err)
	}
	return files
}

// folderOf returns the folder of the format of a stream, which the file with its
// expected calls names.
func folderOf(t *testing.T, stream string) string {
	t.Helper()
	data, err := os.ReadFile(strings.TrimSuffix(stream, ".jsonl") + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Format string }
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%s: %v", stream, err)
	}
	return want.Format
}
