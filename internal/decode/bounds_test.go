package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode/agui"
	"streamer/internal/decode/bedrock"
	"streamer/internal/decode/vercelui"
	"streamer/internal/decode/wire"
)

// decoderOf returns the Decoder of its type, or an unused one.
func decoderOf[D wire.Decoder](s *State) (d D) {
	for _, used := range s.Decoders {
		if d, ok := used.Decoder.(D); ok {
			return d
		}
	}
	return reflect.New(reflect.TypeFor[D]().Elem()).Interface().(D)
}

// keptAnswer is the bound of a result of Bedrock that comes in pieces.
const keptAnswer = 1 << 20

// TestBedrockResultIsBounded: what there is of a result that is too long is
// given, and the rest is reported.
func TestBedrockResultIsBounded(t *testing.T) {
	var m State
	var r Reader
	transcript(&r, &m, []byte(`{"contentBlockStart":{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"t"}}}}`), "")
	piece := []byte(`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"` + strings.Repeat("x", keptAnswer/4) + `"}]}}}`)
	results, problems := 0, 0
	for range 8 {
		r.Reset(&m, piece, "", Limits{})
		for r.Next() {
			for _, c := range r.Chunks() {
				if c.Kind == chunks.Result && c.ID == "t" && len(c.Text) == 3*(keptAnswer/4) {
					results++
				}
			}
			if p := r.Problem(); p != nil && p.Code == wire.OverLimit {
				problems++
			}
		}
		if n := len(decoderOf[*bedrock.Decoder](&m).Answer.Blocks); n > keptAnswer {
			t.Fatalf("%d bytes of a result are kept, want at most %d", n, keptAnswer)
		}
	}
	if results != 1 || problems != 1 {
		t.Errorf("%d results and %d problems over the limit, want 1 of each", results, problems)
	}
}

// TestWhatIsRememberedIsBounded opens more than any stream does and closes
// nothing of it.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	for format, event := range map[string]string{
		"ag-ui calls":     `{"type":"TOOL_CALL_START","toolCallId":"tc%[1]d","toolCallName":"f","parentMessageId":"m%[1]d"}`,
		"ag-ui texts":     `{"type":"TEXT_MESSAGE_START","messageId":"m%[1]d","subagentRunId":"s%[1]d"}`,
		"ag-ui waits":     `{"type":"RUN_FINISHED","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"tc%d"}]}}`,
		"vercel-ui parts": `{"type":"text-start","id":"%d"}`,
	} {
		var m State
		var r Reader
		for i := range 3000 {
			r.Reset(&m, fmt.Appendf(nil, event, i), "", Limits{})
			for r.Next() {
				if p := r.Problem(); p != nil {
					t.Fatalf("%s: %s", format, p.Text)
				}
			}
		}
		saved, err := json.Marshal(m)
		if err != nil || len(saved) > 128<<10 {
			t.Errorf("%s: %d bytes are remembered, %v", format, len(saved), err)
		}
		if n := len(decoderOf[*agui.Decoder](&m).Lanes) + len(decoderOf[*vercelui.Decoder](&m).Parts) + len(decoderOf[*agui.Decoder](&m).Waiting); n < 10 {
			t.Errorf("%s: only %d are remembered", format, n)
		}
	}
}

// TestACopyOfMemoryGoesItsOwnWay: what is read after a copy was taken does not
// show in the copy.
func TestACopyOfMemoryGoesItsOwnWay(t *testing.T) {
	for _, format := range []string{"bedrock", "vercel-ui", "ag-ui"} {
		for file, events := range streams(t, format) {
			var m State
			var r Reader
			for i, event := range events {
				copied := m.Clone()
				before, err := json.Marshal(copied)
				if err != nil {
					t.Fatal(err)
				}
				transcript(&r, &m, []byte(event), "")
				if after, _ := json.Marshal(copied); string(after) != string(before) {
					t.Fatalf("%s line %d\nthe copy was %s\n and became %s", file, i+1, before, after)
				}
			}
		}
	}
}
