package jsonscan

import "testing"

// TestFirstKey compares FirstKey and IsEmpty with the first member that a Cursor visits.
func TestFirstKey(t *testing.T) {
	for _, text := range []string{
		`{}`, `{ }`, " {\n}", `{"a":1}`, `{ "a" : {"b":2} }`, `{"":[]}`, `{"\u0061":1,"b":2}`, `{"a\"b":"}"}`, `[]`, `["a"]`, `"a"`, `1`, `null`, ``,
	} {
		v := ValueOf(text)
		m := v.Members()
		some := m.Next()
		if got, want := v.FirstKey(), m.Key; got != want {
			t.Errorf("%s: the first key is %q, want %q", text, got, want)
		}
		if got, want := v.IsEmpty(), v.IsObject() && !some; got != want {
			t.Errorf("%s: empty %t, want %t", text, got, want)
		}
	}
}
