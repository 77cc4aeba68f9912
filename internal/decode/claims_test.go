package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"streamer/internal/decode/wire"
)

// recorded tells which formats an event of a folder of recorded streams may
// surely be of.
var recorded = map[string][]string{
	"openai-chat": {"openai-chat"}, "openai-responses": {"openai-responses"}, "mistral": {"mistral", "openai-chat"},
	"anthropic": {"anthropic"}, "gemini": {"gemini"}, "gemini-interactions": {"gemini-interactions"},
	"ollama": {"ollama"}, "cohere": {"cohere"}, "bedrock": {"bedrock"}, "vercel-ui": {"vercel-ui"}, "ag-ui": {"ag-ui"},
	"langchain": {"langchain"}, "langgraph": {"langchain"}, "langgraph-sse": {"langchain"}, "langgraph-partial": {"langchain"},
	"langgraph-protocol": {"langgraph-protocol"},
}

// TestNoFormatClaimsARecordedEventOfAnother looks at every recorded event.
func TestNoFormatClaimsARecordedEventOfAnother(t *testing.T) {
	for folder, owners := range recorded {
		files, err := filepath.Glob(filepath.Join(shared(t, "formats", "corpus", folder), "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no streams of %s: %v", folder, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				p := trimmed(string(line), 0, 0)
				f, problem := p.frame()
				if problem != nil {
					t.Errorf("%s: %s", file, problem.Text)
					continue
				}
				for i := range formats {
					if name := formats[i].Name(); !slices.Contains(owners, name) && formats[i].Claims(f) == wire.Surely {
						t.Errorf("%s: %.200s\nis of %q, and %s claims it", file, line, owners, name)
					}
				}
			}
		}
	}
}
