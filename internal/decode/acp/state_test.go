package acp

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// read decodes a session/update and returns its chunks.
func read(t *testing.T, d *decoder, update string) []chunks.Chunk {
	t.Helper()
	text := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`
	var w wire.Writer
	if problem := d.Decode(&w, wire.Frame{JSON: jsonscan.ValueOf(text)}); problem != nil {
		t.Fatalf("%.200s: %s", update, problem.Text)
	}
	return w.Chunks()
}

// TestStateIsBounded begins more calls than the state has, each with an output.
func TestStateIsBounded(t *testing.T) {
	d := new(decoder)
	output := strings.Repeat("x", maxOutput/maxCalls*2)
	for i := range 2 * maxCalls {
		read(t, d, fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"%d","kind":"read","rawOutput":"%s"}`, i, output))
	}
	size := 0
	for _, c := range d.Calls {
		size += len(c.Output)
	}
	if len(d.Calls) != maxCalls || size > maxOutput || size < maxOutput/2 {
		t.Errorf("%d calls with %d bytes are stored, want %d and at most %d", len(d.Calls), size, maxCalls, maxOutput)
	}
	for i := range 2 * maxRequests {
		d.prompted(t, i)
	}
	if n := len(d.Prompts); n != maxRequests {
		t.Errorf("%d prompts are stored, want %d", n, maxRequests)
	}
}

// prompted decodes a prompt.
func (d *decoder) prompted(t *testing.T, id int) {
	t.Helper()
	var w wire.Writer
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{}}`, id)
	if problem := d.Decode(&w, wire.Frame{JSON: jsonscan.ValueOf(text)}); problem != nil {
		t.Fatal(problem.Text)
	}
}

// TestLongOutput checks that an output over the limit is not stored, and that one in the
// last update is used whatever its length.
func TestLongOutput(t *testing.T) {
	long := strings.Repeat("x", maxOutput)
	for name, c := range map[string]struct {
		running, last string
		want          int
	}{
		"before the end": {`,"rawOutput":"` + long + `"`, ``, 0},
		"at the end":     {``, `,"rawOutput":"` + long + `"`, len(long)},
		"short":          {`,"rawOutput":"x"`, ``, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(decoder)
			read(t, d, `{"sessionUpdate":"tool_call","toolCallId":"a","kind":"read"`+c.running+`}`)
			list := read(t, d, `{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"`+c.last+`}`)
			if last := list[len(list)-1]; last.Kind != chunks.Result || len(last.Text) != c.want {
				t.Errorf("%s: chunk %d of %d bytes, want a result of %d", name, last.Kind, len(last.Text), c.want)
			}
		})
	}
}

// TestNames checks which member of a call is its name.
func TestNames(t *testing.T) {
	long := strings.Repeat("é", maxTitle)
	for update, want := range map[string]string{
		`"kind":"edit","title":"Edit a.txt"`:                        "edit",
		`"kind":"other","title":"mcp__tides__get"`:                  "mcp__tides__get",
		`"title":"first line\nsecond"`:                              "first line",
		`"kind":"other"`:                                            "other",
		`"kind":"read","_meta":{"claudeCode":{"toolName":"Read"}}`:  "Read",
		`"kind":"read","_meta":{"claudeCode":{"toolName":null}}`:    "read",
		`"title":"` + long + `"`:                                    long[:maxTitle],
		`"title":"a` + long + `"`:                                   "a" + long[:maxTitle-2],
		`"title":"\u0061"`:                                          "a",
		`"kind":"execute","title":"ls","_meta":{"claudeCode":"no"}`: "execute",
	} {
		t.Run(update, func(t *testing.T) {
			list := read(t, new(decoder), `{"sessionUpdate":"tool_call","toolCallId":"a",`+update+`}`)
			got := list[len(list)-1]
			if got.Name != want || !got.Final || !utf8.ValidString(got.Name) {
				t.Errorf("%s: name %q, final %v, want %q", update, got.Name, got.Final, want)
			}
		})
	}
}
