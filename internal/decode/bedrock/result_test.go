package bedrock

import (
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestResultIsBounded checks that the beginning of a result that is too long is
// emitted, and that the rest is reported.
func TestResultIsBounded(t *testing.T) {
	const piece = maxResult / 4 // four pieces and the JSON around them are too long
	d := new(Decoder)
	decode(d, `{"contentBlockStart":{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"t"}}}}`)
	delta := `{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"` + strings.Repeat("x", piece) + `"}]}}}`
	results, problems := 0, 0
	for range 8 {
		list, problem := decode(d, delta)
		for _, c := range list {
			if c.Kind == chunks.Result && c.ID == "t" && len(c.Text) == 3*piece {
				results++
			}
		}
		if problem != nil && problem.Code == wire.OverLimit {
			problems++
		}
		if n := len(d.Result.Blocks); n > maxResult {
			t.Fatalf("%d bytes of a result are stored, want at most %d", n, maxResult)
		}
	}
	if results != 1 || problems != 1 {
		t.Errorf("%d results and %d problems over the limit, want 1 of each", results, problems)
	}
}

// TestClone checks that decoding changes no clone.
func TestClone(t *testing.T) {
	d := new(Decoder)
	decode(d, `{"contentBlockStart":{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"t"}}}}`)
	delta := func(text string) string {
		return `{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"` + text + `"}]}}}`
	}
	decode(d, delta("a"))
	clone := d.Clone().(*Decoder)
	decode(d, delta("b"))
	decode(clone, delta("c"))
	for _, c := range []struct {
		d    *Decoder
		want string
	}{{d, "ab"}, {clone, "ac"}} {
		t.Run(c.want, func(t *testing.T) {
			got, _ := decode(c.d, `{"contentBlockStop":{"contentBlockIndex":1}}`)
			if len(got) != 1 || got[0].Text != c.want {
				t.Errorf("got %+v, want the text %s", got, c.want)
			}
		})
	}
}

// decode returns the chunks of an event.
func decode(d *Decoder, event string) ([]chunks.Chunk, *wire.Problem) {
	var w wire.Writer
	problem := d.Decode(&w, wire.Frame{JSON: jsonscan.ValueOf(event)})
	return w.Chunks(), problem
}
