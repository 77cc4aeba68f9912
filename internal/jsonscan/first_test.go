package jsonscan

import (
	"fmt"
	"strings"
	"testing"
)

// TestFirstKey compares FirstKey and IsEmpty with the first member that a Cursor visits.
func TestFirstKey(t *testing.T) {
	for _, text := range []string{
		`{}`, `{ }`, " {\n}", `{"a":1}`, `{ "a" : {"b":2} }`, `{"":[]}`, `{"\u0061":1,"b":2}`, `{"a\"b":"}"}`, `[]`, `["a"]`, `"a"`, `1`, `null`, ``,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			v := ValueOf(text)
			m := v.Members()
			some := m.Next()
			if got, want := v.FirstKey(), m.Key; got != want {
				t.Errorf("%s: the first key is %q, want %q", text, got, want)
			}
			if got, want := v.IsEmpty(), v.IsObject() && !some; got != want {
				t.Errorf("%s: empty %t, want %t", text, got, want)
			}
		})
	}
}

// TestStringEnd checks the ends of strings of all lengths with an escape, a quote or
// another special byte at each place.
func TestStringEnd(t *testing.T) {
	for _, special := range []string{"", `\"`, `\\`, `\\\"`, "\xa2", "\xdc", "#", "!", "\x7f", "]"} {
		t.Run(fmt.Sprintf("%q", special), func(t *testing.T) {
			for n := range 80 {
				for at := range n + 1 {
					inside := strings.Repeat("a", at) + special + strings.Repeat("b", n-at)
					for _, tail := range []string{``, `,"next":"more text than eight bytes"}`} {
						end, plain := stringEnd(`x"`+inside+`"`+tail, 1)
						if want := len(inside) + 3; end != want || plain != !strings.Contains(inside, `\`) {
							t.Fatalf("%q: end %d, plain %t; want %d", inside, end, plain, want)
						}
					}
					if end, plain := stringEnd(`"`+inside, 0); end != len(inside)+1 || plain {
						t.Fatalf("%q without its end: end %d, plain %t", inside, end, plain)
					}
				}
			}
		})
	}
}
