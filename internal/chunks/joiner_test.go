package chunks

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// joined returns the text of the pieces.
func joined(pieces ...string) string {
	var j Joiner
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(j.Join(p))
	}
	b.WriteString(j.End())
	return b.String()
}

const (
	high = "\xED\xA0\xBD" // the halves of U+1F600
	low  = "\xED\xB8\x80"
)

func TestJoiner(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"nothing", nil, ""},
		{"a pair in one piece", []string{"a" + high + low + "b"}, "a😀b"},
		{"a pair cut in two", []string{"a" + high, low + "b"}, "a😀b"},
		{"an empty piece between", []string{high, "", low}, "😀"},
		{"a high half alone", []string{high + "b"}, "\uFFFDb"},
		{"a high half at the end", []string{"a" + high}, "a\uFFFD"},
		{"a low half alone", []string{low}, "\uFFFD"},
		{"two high halves", []string{high, high, low}, "\uFFFD😀"},
		{"the wrong way round", []string{low, high}, "\uFFFD\uFFFD"},
		{"other characters that begin so", []string{"\uD000 힣"}, "\uD000 힣"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := joined(c.in...); got != c.want {
				t.Errorf("%s: %q: got %q, want %q", c.name, c.in, got, c.want)
			}
		})
	}
}

// FuzzJoiner checks that the text is valid UTF-8 and the same wherever it is cut
// between characters, and that valid text stays unchanged.
func FuzzJoiner(f *testing.F) {
	f.Add("a"+high+"|"+low+"b", uint(2))
	f.Add("한국|"+high+high, uint(1))
	f.Fuzz(func(t *testing.T, text string, at uint) {
		halves := strings.NewReplacer("<", high, ">", low)
		text = halves.Replace(strings.ToValidUTF8(text, "?"))
		var cuts []int
		for i := 0; i <= len(text); i++ {
			if i == len(text) || utf8.RuneStart(text[i]) {
				cuts = append(cuts, i)
			}
		}
		i := cuts[at%uint(len(cuts))]
		want := joined(text)
		if got := joined(text[:i], text[i:]); got != want || !utf8.ValidString(got) {
			t.Errorf("%q cut at %d: %q, whole: %q", text, i, got, want)
		}
		if utf8.ValidString(text) && want != text {
			t.Errorf("%q became %q", text, want)
		}
	})
}
