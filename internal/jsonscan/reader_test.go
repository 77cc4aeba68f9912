package jsonscan

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// readAny reads any value as encoding/json does with UseNumber.
func readAny(r *Reader) any {
	switch c := r.peek(); {
	case c == '{':
		v := map[string]any{}
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			v[key] = readAny(r)
		}
		return v
	case c == '[':
		v := []any{}
		for r.Array(); r.Element(); {
			v = append(v, readAny(r))
		}
		return v
	case c == '"':
		s, _ := r.Text()
		return s
	case c == 't', c == 'f':
		b, _ := r.Bool()
		return b
	case r.Null():
		return nil
	}
	return json.Number(r.Raw())
}

// checkReader compares a Reader with encoding/json, which also accepts bytes that are
// no UTF-8.
func checkReader(t *testing.T, text string) {
	t.Helper()
	if TooDeep(text, 1000) >= 0 {
		return // readAny is recursive
	}
	var want any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&want)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = strconv.ErrSyntax
	}
	r := NewReader(text)
	got := readAny(&r)
	r.End()
	if valid := err == nil && utf8.ValidString(text); valid != (r.Err() == nil) {
		t.Fatalf("%q: error %v, encoding/json has %v", text, r.Err(), err)
	}
	if r.Err() == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as %#v\nencoding/json has %#v", text, got, want)
	}
	skipped := NewReader(text)
	raw := skipped.Raw()
	skipped.End()
	if (skipped.Err() == nil) != (r.Err() == nil) || r.Err() == nil && raw != strings.Trim(text, " \t\r\n") {
		t.Fatalf("%q: Raw returns %q, %v; read as values: %v", text, raw, skipped.Err(), r.Err())
	}
	checkInteger(t, text)
}

// checkInteger compares the integer of a text with that of encoding/json.
func checkInteger(t *testing.T, text string) {
	t.Helper()
	r := NewReader(text)
	n, negative, ok := r.Integer()
	r.End()
	ok = ok && r.Err() == nil
	var positive uint64
	var signed int64
	if wantOK := json.Unmarshal([]byte(text), &positive) == nil && bytes.TrimSpace([]byte(text))[0] != 'n'; ok && !negative && !wantOK || wantOK && (!ok || negative || n != positive) {
		t.Fatalf("%q: Integer returns %d, %t, %t; encoding/json has %d", text, n, negative, ok, positive)
	}
	if json.Unmarshal([]byte(text), &signed) == nil && signed < 0 && (!ok || !negative || -n != uint64(signed)) {
		t.Fatalf("%q: Integer returns %d, %t, %t; encoding/json has %d", text, n, negative, ok, signed)
	}
}

var readerTexts = []string{
	``, ` `, `null`, `nul`, `true`, `truex`, `false`, `0`, `-0`, `-1`, `01`, `-`, `+1`, `1.5`, `1e3`, `1 2`, `.5`,
	`18446744073709551615`, `18446744073709551616`, `-9223372036854775808`, `99999999999999999999`,
	`""`, `"a"`, `"a`, `"\"`, `"\u00e9\ud83d\ude00 \ud800 \udc00x"`, `"\x"`, `"\u12"`, "\"\x01\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"é\"",
	`"a string that is longer than eight bytes \n and has \"escapes\" é"`, `"12345678é"`, `"\t"x`,
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `[[],{}]`, `]`, `[}`, `[1}`, `[true,null,"x",{"a":[]}]`,
	`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a" 1}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1,"a":{"b":[]}}`, `{"a":1]`, `{"\u0061":1,"":2}`, `{1:2}`, `{} {}`,
	"\t{\n\"a\"\r:\t[ 1 , 2 ] }\n", "\v1", "\ufeff1",
}

func TestReader(t *testing.T) {
	for _, text := range readerTexts {
		checkReader(t, text)
	}
}

// TestReaderTypes checks that a value of another type is an error that names its offset,
// and that nothing follows it.
func TestReaderTypes(t *testing.T) {
	for want, read := range map[string]func(r *Reader){
		`'[' where a string is expected at offset 1`:   func(r *Reader) { r.Text() },
		`'[' where an object is expected at offset 1`:  func(r *Reader) { r.Object() },
		`'[' where a boolean is expected at offset 1`:  func(r *Reader) { r.Bool() },
		`'[' where an integer is expected at offset 1`: func(r *Reader) { r.Integer() },
	} {
		r := NewReader(` [{"a":1}]`)
		read(&r)
		if r.Err() == nil || r.Err().Error() != want {
			t.Errorf("error %v, want %s", r.Err(), want)
		}
		if key, ok := r.Key(); ok || r.Array() || r.Element() || r.Null() || r.Raw() != "" {
			t.Errorf("after %s: something follows (%q)", want, key)
		}
		r.End()
		if r.Err().Error() != want {
			t.Errorf("then the error is %v, want %s", r.Err(), want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range readerTexts {
		f.Add(text)
	}
	f.Fuzz(checkReader)
}
