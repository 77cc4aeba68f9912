package chunks

import "testing"

// TestAssemblyText checks fragments that a plain concatenation would get wrong.
func TestAssemblyText(t *testing.T) {
	limits := Limits{Calls: 10, ArgsBytes: 1 << 10, NameBytes: 64}
	for name, c := range map[string]struct {
		kind   string
		pieces []string
		whole  string // of a full message at the end, "" for none
		want   string
	}{
		"pieces":                {"", []string{`{"a"`, `:1}`}, "", `{"a":1}`},
		"the whole text so far": {"", []string{`{"a"`, `{"a":`, `{"a":1}`}, "", `{"a":1}`},
		"the whole text so far, with a cut character": {
			"", []string{"{\"a\":\"\xed\xa0\xbd", `{"a":"😀`, `{"a":"😀"}`}, "", `{"a":"😀"}`,
		},
		"a piece was lost":             {"", []string{`{"a"`, `1}`}, `{"a":1}`, `{"a":1}`},
		"a full message repeats it":    {"", []string{`{"a": 1}`}, `{"a":1}`, `{"a": 1}`},
		"free text with braces":        {"custom", []string{"{", "{", "{x}}}"}, "", "{{{x}}}"},
		"free text like a placeholder": {"custom", []string{"{}", "{}"}, "", "{}{}"},
		"free text, a piece was lost":  {"custom", []string{"4"}, "42", "42"},
	} {
		t.Run(name, func(t *testing.T) {
			var m plain
			add := func(f Chunk) {
				t.Helper()
				if _, _, err := m.Add(&f, limits); err != nil {
					t.Fatalf("%s: %+v: %v", name, f, err)
				}
			}
			add(Chunk{Kind: Fragment, Index: "0", ID: "a", Name: "f", CallKind: c.kind})
			for _, p := range c.pieces {
				add(Chunk{Kind: Fragment, Index: "0", Args: p})
			}
			if c.whole != "" {
				add(Chunk{Kind: Fragment, ID: "a", Name: "f", Args: c.whole, Whole: true})
			}
			if got := string(m.Calls[0].Text); got != c.want || len(m.Calls) != 1 {
				t.Errorf("%s: %q, then %q\n got %q in %d calls\nwant %q", name, c.pieces, c.whole, got, len(m.Calls), c.want)
			}
		})
	}
}
