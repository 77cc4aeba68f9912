package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestAppendEnd checks that each proper prefix of a text gets an end.
func TestAppendEnd(t *testing.T) {
	for _, text := range []string{
		` {"a" : [1, -2.5e+30, "x\"\u00e4\\ y", true, false, null, [], {}], "b": {"c": "é€😀"}} `,
		`"\ud83d\ude00"`, `-0.5E-1 `, `[[{"a":[0]}]]`,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			for n := range len(text) + 1 {
				var s Scanner
				if s.Write(text[:n]) == Bad {
					t.Fatalf("%q is bad", text[:n])
				}
				if got := text[:n] + string(s.AppendEnd(nil)); !json.Valid([]byte(got)) {
					t.Errorf("%q: got %q, which is not JSON", text[:n], got)
				}
				if s.Offset() != n {
					t.Errorf("%q: the scanner consumed %d bytes", text[:n], s.Offset()-n)
				}
			}
		})
	}
	for text, want := range map[string]string{
		`{"a":1`: "}", `{"a":1}`: "", `{"a":tru`: "e}", `{"a":"b`: `"}`, `{"a":`: "null}", `{"a`: `":null}`, `{"a":1,`: `"":null}`,
		`[`: "]", `[1,`: "null]", "1": "", "{]": "", "": "null",
	} {
		t.Run(text, func(t *testing.T) {
			var s Scanner
			s.Write(text)
			if got := string(s.AppendEnd(nil)); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		})
	}
	var deep Scanner
	deep.Write(strings.Repeat(`[{"a":`, MaxDepth/2))
	if got := string(deep.AppendEnd(nil)); got != "null"+strings.Repeat("}]", MaxDepth/2) {
		t.Errorf("a deep text: got %d bytes", len(got))
	}
}
