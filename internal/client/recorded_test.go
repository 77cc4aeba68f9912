package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"
)

// TestParseRecorded: only lines of a recorded session are read as such.
func TestParseRecorded(t *testing.T) {
	for line, want := range map[string]string{
		`{"at":1226,"kind":"delta","data":{"type":"ping"}}`:                  `1.226s delta {"type":"ping"}`,
		`{"kind":"result","data":{"tool_call_id":"call_a"},"at":7}` + "\r\n": `7ms result {"tool_call_id":"call_a"}`,
		`{"kind":"end","data":null}`:                                         `0s end null`,
		`{"at":-5,"kind":"interrupt","data":{}}`:                             `0s interrupt {}`,
		`{"at":9223372036854775807,"kind":"progress","data":{}}`:             `2562047h47m16.854s progress {}`,
		`{"at":1,"kind":"clock","data":{}}`:                                  "",
		`{"at":1,"kind":"delta"}`:                                            "",
		`{"at":1,"data":{}}`:                                                 "",
		`{"at":"1","kind":"delta","data":{}}`:                                "",
		`{"at":1,"kind":"delta","data":{},"id":"x"}`:                         "",
		`{"kind":"delta","data":{}} {}`:                                      "",
		`data: {"kind":"delta","data":{}}`:                                   "",
		`["kind","data"]`:                                                    "",
		``:                                                                   "",
	} {
		t.Run(fmt.Sprintf("%.60s", line), func(t *testing.T) {
			got := ""
			if r, ok := ParseRecorded([]byte(line)); ok {
				got = strings.Join([]string{r.At.String(), string(r.Kind), string(r.Data)}, " ")
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", line, got, want)
			}
		})
	}
}

// TestMisrecorded: a line that has the members of a recorded input and is none is named as such.
func TestMisrecorded(t *testing.T) {
	for line, want := range map[string]string{
		`{"at":1,"kind":"results","data":{}}`: `kind is "results", not one of ["delta" "result" "progress" "interrupt" "answer" "resume" "end"]`,
		`{"at":"x","kind":"delta","data":{}}`: "at is x, not a number of milliseconds",
		`{"at":1,"kind":"delta","data":{}}`:   "",
		`{"at":1,"kind":7,"data":{}}`:         "",
		`{"kind":"x","data":{}}`:              "",
		`{"kind":`:                            "",
	} {
		t.Run(line, func(t *testing.T) {
			got := ""
			if err := misrecorded([]byte(line)); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// FuzzParseRecorded: what is read can be written and read again.
func FuzzParseRecorded(f *testing.F) {
	f.Add([]byte(`{"at":1226,"kind":"delta","data":{"type":"ping"}}`))
	f.Add([]byte(`{"kind":"end","data":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := ParseRecorded(line)
		if !ok {
			return
		}
		text, err := json.Marshal(struct {
			At   int64           `json:"at"`
			Kind inputs.Kind     `json:"kind"`
			Data json.RawMessage `json:"data"`
		}{int64(r.At / time.Millisecond), r.Kind, r.Data})
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := ParseRecorded(text); !ok || again.At != r.At || again.Kind != r.Kind {
			t.Errorf("%s: got %+v, then %+v of %s", line, r, again, text)
		}
	})
}
