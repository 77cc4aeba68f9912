package decode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// langFamilies are the folders of recorded streams that are of this format.
var langFamilies = map[string]bool{"langchain": true, "langgraph": true, "langgraph-sse": true, "langgraph-partial": true}

// everyStream gives every recorded and synthetic stream at hand.
func everyStream(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"corpus/*/*.jsonl", "quirks/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(shared(t, "formats"), filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("no streams %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// isLangStream tells by the file beside a stream whether it is of this format.
func isLangStream(t *testing.T, stream string) bool {
	t.Helper()
	data, err := os.ReadFile(strings.TrimSuffix(stream, ".jsonl") + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Format string }
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%s: %v", stream, err)
	}
	return langFamilies[want.Format]
}

// TestLangChainClaims puts every event of every stream there is before the
// claim: all of its own are surely so, none of another's is.
func TestLangChainClaims(t *testing.T) {
	own := 0
	for _, file := range everyStream(t) {
		mine := isLangStream(t, file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f, problem := piece{text: strings.TrimSpace(string(line))}.frame()
			if problem != nil {
				continue // not one JSON value; that is the framing's to tell
			}
			got := find("langchain").Claims(f)
			if mine && got != wire.Surely || !mine && got != wire.No {
				t.Errorf("%s\nevent %.200s\nclaim %d, of its own: %v", file, line, got, mine)
			}
			if mine {
				own++
			}
		}
	}
	if own == 0 {
		t.Error("no event was of this format")
	}
}
