package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"testing"

	"streamer/internal/decode"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/stored"
	"streamer/test/testkit"
)

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

// TestStoredFields checks that the stored form has every field of a state with the
// Decoders of all formats: each field alone, and all together.
func TestStoredFields(t *testing.T) {
	empty, _ := stateWith(t, noField)
	all, count := stateWith(t, allFields)
	if checkStoredForm(t, all); count < 250 {
		t.Errorf("%d fields", count)
	}
	for only := range count {
		s, _ := stateWith(t, only)
		if checkStoredForm(t, s); bytes.Equal(unversioned(s), unversioned(empty)) {
			t.Errorf("field %d is not stored, among these: %q", only, unversioned(all))
		}
	}
}

// fullState is the stored form of a state with all fields, as a Go string. All later
// versions must read it.
const fullState = "testdata/state.txt"

// TestLoadOlder checks that nothing of a state is lost that an older program stored. Only
// a field that is removed needs an update of the file.
func TestLoadOlder(t *testing.T) {
	if *testkit.Update {
		s, _ := stateWith(t, allFields)
		if err := os.WriteFile(fullState, strconv.AppendQuote(nil, string(unversioned(s))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(fullState)
	if err != nil {
		t.Fatal(err)
	}
	older, err := strconv.Unquote(string(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load([]byte(older))
	if err != nil {
		t.Fatal(err)
	}
	if got := unversioned(s); string(got) != older {
		t.Errorf("%s\nis loaded as\n%q", text, got)
	}
}

// TestLoadNewer checks that a state of a newer program causes ErrVersion, and a damaged
// one does not.
func TestLoadNewer(t *testing.T) {
	newer := stored.Append(nil, &versioned{lifecycle.FoldVersion + 1, new(State)}, (*versioned).fields)
	for _, data := range [][]byte{newer, {stored.Version + 1, 0}} {
		if _, err := Load(data); !errors.Is(err, ErrVersion) {
			t.Errorf("%q: got %v, want %v", data, err, ErrVersion)
		}
	}
	if _, err := Load(newer[:3]); err == nil || errors.Is(err, ErrVersion) {
		t.Errorf("a damaged state: got %v", err)
	}
}

// TestLoadDamaged checks that a byte that is wrong causes nothing worse than an error, and
// that no beginning of a state is loaded.
func TestLoadDamaged(t *testing.T) {
	s, _ := stateWith(t, allFields)
	data := unversioned(s)
	for n := 0; n < 8*len(data); n += testkit.Stride(9) { // each bit in turn
		wrong := bytes.Clone(data)
		wrong[n/8] ^= 1 << (n % 8)
		checkLoad(t, wrong)
	}
	for i := range data {
		if _, err := Load(data[:i]); err == nil {
			t.Errorf("%d bytes of %d are loaded", i, len(data))
		}
	}
}

// FuzzLoad checks that no bytes that are loaded as a state make Load or Append fail.
func FuzzLoad(f *testing.F) {
	s, _ := stateWith(f, allFields)
	f.Add(unversioned(s))
	f.Fuzz(checkLoad)
}

// checkLoad loads a state, if that is possible, and checks its stored form.
func checkLoad(t *testing.T, data []byte) {
	t.Helper()
	if s, err := Load(data); err == nil {
		checkStoredForm(t, s)
	}
}

// checkStoredForm checks that a state does not change when it is stored and loaded.
func checkStoredForm(t *testing.T, s *State) {
	t.Helper()
	got, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Clone(got)
	loaded, err := Load(data)
	if err != nil {
		t.Fatalf("%q: %v", got, err)
	}
	clear(data) // the state must not share it
	if again, err := loaded.Marshal(); err != nil || !bytes.Equal(again, got) {
		t.Errorf("stored as %q\n     then %q (%v)", got, again, err)
	}
}

// unversioned returns the stored form of a state without the fold version.
func unversioned(s *State) []byte {
	return stored.Append(nil, &versioned{State: s}, (*versioned).fields)
}

const (
	allFields = -1
	noField   = -2
)

// stateWith returns a state with the Decoders of all formats, in which every pointer is
// set and every list has an element, and the number of its fields. All of the other fields
// are set, or only the one with a number.
func stateWith(t testing.TB, only int) (s *State, count int) {
	t.Helper()
	s = new(State)
	setFields(reflect.ValueOf(s), &count, only)
	formats := decode.Names()
	data := stored.Append(nil, &formats, func(formats *[]string, f *stored.Fields) {
		stored.List(f, "d", formats, func(format *string, f *stored.Fields) { f.Text("f", format) })
	})
	if err := stored.Load(data, &s.Read, (*decode.State).Fields); err != nil {
		t.Fatal(err)
	}
	s.streams()[0].Read.Decoders = s.Read.Decoders
	for i := range s.Read.Decoders {
		setFields(reflect.ValueOf(s.Read.Decoders[i].Decoder), &count, only)
	}
	return s, count
}

// setFields sets the exported field with a number, or all, in v and what it has. n counts
// the fields.
func setFields(v reflect.Value, n *int, only int) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		setFields(v.Elem(), n, only)
		return
	case reflect.Interface: // the decoder of a format in that of another
		setFields(v.Elem(), n, only)
		return
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[decode.FormatDecoder]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				setFields(v.Field(i), n, only)
			}
		}
		return
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			setFields(v.Index(0), n, only)
			return
		}
	}
	if *n++; only != allFields && *n-1 != only {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Slice:
		v.SetBytes(fmt.Append(nil, "bytes ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(3)
	default:
		v.SetUint(uint64(*n))
	}
}
