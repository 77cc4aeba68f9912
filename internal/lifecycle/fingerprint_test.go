package lifecycle

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// TestFingerprint checks which args have the same fingerprint.
func TestFingerprint(t *testing.T) {
	for _, same := range [][]string{
		{`{"a": 1, "b": [1.50, "é\n"]}`, `{"a":1,"b":[1.5,"\u00e9\u000A"]}`, "{ \"a\" :1.0,\n\"b\":[15e-1,\"é\\n\"]}"},
		{`{}`, `{ }`},
		{`{"a":true}`, `{"a": true }`},
	} {
		for _, s := range same {
			if got, want := fingerprint([]byte(s)), fingerprint([]byte(same[0])); got != want {
				t.Errorf("%s: %x, want %x as of %s", s, got, want, same[0])
			}
		}
	}
	seen := map[uint64]string{0: "no args"}
	for _, s := range []string{`{}`, `[]`, `{"a":1}`, `{"a":"1"}`, `{"a":11}`, `{"a":[1,1]}`, `{"a":"b","c":1}`, `{"a":"b\",\"c","d":1}`, `"a"`, `1`, `-1`} {
		t.Run(s, func(t *testing.T) {
			f := fingerprint([]byte(s))
			if old, ok := seen[f]; ok {
				t.Errorf("%s has the fingerprint of %s", s, old)
			}
			seen[f] = s
		})
	}
	if got := fingerprint(nil); got != 0 {
		t.Errorf("of no args: %x, want 0", got)
	}
}

// FuzzFingerprint checks that blanks and HTML escapes do not change a fingerprint,
// and that no text panics.
func FuzzFingerprint(f *testing.F) {
	f.Add([]byte(`{"a": [1, -2.5e3, "x<y\\\" \u2028"], "b": null}`))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		want := fingerprint(text)
		if !json.Valid(text) || !utf8.Valid(text) {
			return
		}
		var b bytes.Buffer
		if json.Indent(&b, text, "", "\t") != nil {
			return
		}
		if got := fingerprint(b.Bytes()); got != want {
			t.Errorf("%q indented: %x, want %x", text, got, want)
		}
		b.Reset()
		json.HTMLEscape(&b, text)
		if got := fingerprint(b.Bytes()); got != want {
			t.Errorf("%q escaped: %x, want %x", text, got, want)
		}
	})
}

// TestFingerprintsStay compares fingerprints with those of earlier versions, which are
// stored.
func TestFingerprintsStay(t *testing.T) {
	for text, want := range map[string]uint64{
		`{"a": [1, -2.5e3, "x\u00e9\n"], "b": null}`: 0xfeb41c1efe56d42b,
		`{}`: 0x8f44b07b5901a25,
		`"\`: 0xf30ea80528f7aa28,
	} {
		if got := fingerprint([]byte(text)); got != want {
			t.Errorf("%s: %x, want %x", text, got, want)
		}
	}
}
