package lifecycle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
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

// TestHash compares the hash with that of hash/fnv. Fingerprints are stored, so they
// must stay the same.
func TestHash(t *testing.T) {
	for _, s := range []string{"", "a", "\x00\xff", "a longer text with {}"} {
		t.Run(s, func(t *testing.T) {
			want := fnv.New64a()
			want.Write([]byte(s))
			want.Write(binary.LittleEndian.AppendUint64([]byte{'0'}, uint64(len(s))))
			got := newHash()
			got.write([]byte(s))
			got.number('0', uint64(len(s)))
			if uint64(got) != want.Sum64() {
				t.Errorf("%q: %x, want %x", s, uint64(got), want.Sum64())
			}
		})
	}
}
