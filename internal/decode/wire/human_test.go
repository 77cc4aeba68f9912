package wire

import (
	"fmt"
	"testing"

	"streamer/internal/jsonscan"
)

// TestPlainText checks which parts of the content of a message are its text.
func TestPlainText(t *testing.T) {
	for content, want := range map[string]string{
		`"a\nb"`:                     "a\nb",
		`""`:                         "",
		`null`:                       "",
		`{"type":"text","text":"a"}`: "",
		`["a",{"type":"text","text":"b"},{"text":"c"},{"type":"input_text","text":"\u00e9"}]`:                      "a\nb\nc\né",
		`[{"text":"no","type":"image"},{"type":"text","text":""},{"type":"text"},{"type":"text","text":1},null,7]`: "",
		`[{"type":"text","text":"a","text":"b"}]`:                                                                  "b",
	} {
		t.Run(fmt.Sprintf("%.60s", content), func(t *testing.T) {
			var w Writer
			before := w.Text(jsonscan.ValueOf(`"kept\t"`))
			if got := w.PlainText(jsonscan.ValueOf(content)); got != want || before != "kept\t" {
				t.Errorf("%s: got %q, want %q; a text before it is %q", content, got, want, before)
			}
		})
	}
}
