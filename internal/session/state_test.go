package session

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// unescaped undoes the escapes for HTML of encoding/json.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// TestStoredForm checks the stored form of the states of each recorded stream.
func TestStoredForm(t *testing.T) {
	for i, file := range allStreams(t) {
		if i%stride > 0 {
			continue
		}
		l := lines(t, file)
		l.add(inputs.Result, len(l)*20+10, `{"tool_call_id":"call_a","content":"<ok>"}`)
		l.add(inputs.Interrupt, len(l)*20+400, `{"reason":"user"}`)
		var s State
		for i, in := range l {
			Fold(nil, &s, in)
			if i%(1+len(l)/20) > 0 && i < len(l)-2 {
				continue
			}
			checkStoredForm(t, &s)
		}
	}
}

// TestStoredFields checks that the stored form has every field of a state: each one
// alone, and all together.
func TestStoredFields(t *testing.T) {
	count := 0
	setFields(reflect.ValueOf(new(State)).Elem(), &count, -1)
	if count < 100 {
		t.Fatalf("%d fields", count)
	}
	for only := range count + 1 {
		if only == count {
			only = all
		}
		s, n := new(State), 0
		setFields(reflect.ValueOf(s).Elem(), &n, only)
		s.N, s.Life.Time = 1, max(1, s.Life.Time)
		checkStoredForm(t, s)
	}
}

// checkStoredForm compares the stored form with that of encoding/json, except for
// escapes for HTML.
func checkStoredForm(t *testing.T, s *State) {
	t.Helper()
	got, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(stored{lifecycle.FoldVersion, s})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := unescaped.Replace(string(got)), unescaped.Replace(string(want)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// all makes setFields set every field.
const all = -2

// setFields sets the exported field with a number, or all, in v and what it has. n counts
// the fields. Every pointer is set, and every list has an element.
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
