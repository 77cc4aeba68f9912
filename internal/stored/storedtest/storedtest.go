// Package storedtest compares the stored form of states in tests with that of
// encoding/json, which reads the tags of the same structs.
package storedtest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"streamer/internal/stored"
)

// Normal returns a stored form without escapes for HTML and without empty objects.
// Only encoding/json writes these.
func Normal(text []byte) string {
	s := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	empty := regexp.MustCompile(`"\w+":{},|,?"\w+":{}`)
	for last := ""; s != last; {
		last, s = s, empty.ReplaceAllString(s, "")
	}
	return s
}

// Check checks that v is written as encoding/json writes it, that both read the same
// value from that, and that it does not change when it is stored again. It returns the
// value.
func Check[T any](t testing.TB, v *T, visit func(*T, *stored.Fields)) *T {
	t.Helper()
	got := stored.Append(nil, v, visit)
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Normal(got), Normal(want); got != want {
		t.Fatalf("stored as %s\n     want %s", got, want)
	}
	loaded := Load(t, string(got), visit)
	if again := stored.Append(nil, loaded, visit); !bytes.Equal(again, got) {
		t.Fatalf("stored as %s\n     then %s", got, again)
	}
	return loaded
}

// Load reads a value that encoding/json accepts, and checks that it is the same.
func Load[T any](t testing.TB, text string, visit func(*T, *stored.Fields)) *T {
	t.Helper()
	got, want := new(T), new(T)
	if err := json.Unmarshal([]byte(text), want); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := stored.Load(text, got, visit); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n is loaded as %+v\n         want %+v", text, got, want)
	}
	return got
}

// Compare checks for any text that encoding/json accepts it too, where it can be loaded,
// and reads the same value.
func Compare[T any](t testing.TB, text string, visit func(*T, *stored.Fields)) {
	t.Helper()
	got, want := new(T), new(T)
	err, wantErr := stored.Load(text, got, visit), json.Unmarshal([]byte(text), want)
	special := specials(text)
	switch {
	case special.unlike:
	case err == nil && wantErr != nil:
		t.Fatalf("%s is loaded, encoding/json fails: %v", text, wantErr)
	case err == nil:
		Load(t, text, visit)
	case wantErr == nil && !special.refused:
		t.Fatalf("%s: %v, encoding/json loads it", text, err)
	}
	if err != nil {
		return
	}
	once := stored.Append(nil, got, visit)
	again := new(T)
	if err := stored.Load(string(once), again, visit); err != nil {
		t.Fatalf("%s\nstored again %s: %v", text, once, err)
	}
	if twice := stored.Append(nil, again, visit); !bytes.Equal(once, twice) {
		t.Fatalf("%s\n stored as %s\n      then %s", text, once, twice)
	}
}

// special states what a text has that no state is stored with.
type special struct {
	unlike  bool // it means something else to encoding/json
	refused bool // encoding/json alone accepts it
}

// specials finds names that differ in case only, names that repeat, elements that are
// null, and lists of numbers, which are bytes to encoding/json.
func specials(text string) (s special) {
	type level struct {
		names map[string]bool // nil of an array
		value bool            // a name was read
	}
	s.refused = !utf8.ValidString(text)
	var open []level
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err != nil {
			return s
		}
		in := &level{}
		if len(open) > 0 {
			in = &open[len(open)-1]
		}
		if name, ok := token.(string); ok && in.names != nil && !in.value {
			s.unlike = s.unlike || in.names[name] || !usual(name)
			in.names[name], in.value = true, true
			continue
		}
		in.value = false
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		case nil:
			s.unlike = s.unlike || len(open) > 0 && in.names == nil
		default:
			if _, number := token.(float64); number && len(open) > 0 && in.names == nil {
				s.refused = true
			}
		}
	}
}

func usual(name string) bool {
	switch name {
	case "Code", "Offset", "Line", "Text", "High":
		return true
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == "" && name != "code" && name != "offset" && name != "line" && name != "text" && name != "high"
}

// Each calls check with values that have one exported field each, and with one that has
// all. Every pointer is set, and every list has an element. It returns the number of
// fields.
func Each[T any](check func(v *T)) (fields int) {
	return EachOf(func() *T { return new(T) }, check)
}

// EachOf is Each for pointers that a function makes.
func EachOf[P any](make func() P, check func(v P)) (fields int) {
	setFields(reflect.ValueOf(make()).Elem(), &fields, -1)
	for only := range fields + 1 {
		if only == fields {
			only = all
		}
		v, n := make(), 0
		setFields(reflect.ValueOf(v).Elem(), &n, only)
		check(v)
	}
	return fields
}

// all makes setFields set every field.
const all = -2

// setFields sets the exported field with a number, or all, in v and what it has. n counts
// the fields.
func setFields(v reflect.Value, n *int, only int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setFields(v.Elem(), n, only)
		return
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				setFields(v.Field(i), n, only)
			}
		}
		return
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			setFields(v.Index(0), n, only)
			return
		}
	case reflect.Interface:
		return
	}
	if *n++; only != all && *n-1 != only {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a\"<\u2028")
	case reflect.Slice:
		v.SetBytes([]byte(`{"a":"<"}`))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	default:
		v.SetUint(3)
	}
}
