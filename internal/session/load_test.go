package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"streamer/internal/decode"
)

// TestLoadFields checks that a state in which every field has a value is loaded without
// encoding/json, and as encoding/json loads it.
func TestLoadFields(t *testing.T) {
	var s State
	s.N = 7
	n := uint64(0)
	fillValue(t, reflect.ValueOf(&s.Life).Elem(), &n)
	s.Read.Format = "anthropic"
	fillValue(t, reflect.ValueOf(&s.Read.SSE).Elem(), &n)
	fillValue(t, reflect.ValueOf(&s.Read.Cut).Elem(), &n)
	for _, format := range decode.Names() {
		var d decode.FormatDecoder
		if err := json.Unmarshal([]byte(`{"f":"`+format+`","s":{}}`), &d); err != nil {
			t.Fatal(err)
		}
		s.Read.Decoders = append(s.Read.Decoders, d)
	}
	data, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	sameLoaded(t, data)
}

// fillValue sets the exported fields of a value to values of which no two are the same.
func fillValue(t *testing.T, v reflect.Value, n *uint64) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillValue(t, v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillValue(t, v.Index(0), n)
		fillValue(t, v.Index(1), n)
	case reflect.String:
		v.SetString("text " + string(rune('a'+*n)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(*n % 256)
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}

// sameLoaded checks that a stored state is loaded without encoding/json, and equals the
// one of encoding/json.
func sameLoaded(t *testing.T, data []byte) {
	t.Helper()
	got, ok := loadPlain(data)
	if !ok {
		t.Fatalf("%s is loaded by encoding/json", data)
	}
	want := stored{State: new(State)}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		again, err := got.Marshal()
		t.Fatalf("a state is loaded as another one, %v\n got %s\nwant %s", err, again, data)
	}
}

// TestLoadStreams checks the states between the inputs of recorded streams.
func TestLoadStreams(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, s, n := newFolder(), new(State), i
		for line := range bytes.Lines(data) {
			f.fold(s, time.UnixMilli(int64(n)), bytes.TrimSpace(line))
			if n++; n%40 > 0 {
				continue
			}
			state, err := s.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			sameLoaded(t, state)
		}
	}
}

// TestLoadWrong checks that a text which is no state is refused, and that encoding/json
// loads one that another program wrote in other words.
func TestLoadWrong(t *testing.T) {
	for _, data := range []string{
		``, `{`, `[]`, `{"v":4,"n":1`, `{"n":"1"}`, `{"n":-1}`, `{"n":1.5}`, `{"life":{"time":"yesterday"}}`, `{"life":{"messages":{}}}`,
		`{"read":{"d":[{"f":"none","s":{}}]}}`, `{"life":{"turn":256}}`, `{"life":{"messages":[{"calls":{"calls":[{"text":"?"}]}}]}}`,
	} {
		if s, err := Load([]byte(data)); err == nil {
			t.Errorf("%s is loaded as %+v", data, s)
		}
	}
	for _, data := range []string{` { "N" : 7 , "v" : 1, "other": {} , "life" : { "last_run" : "\u0061", "run": null } } `} {
		s, err := Load([]byte(data))
		if err != nil || s.N != 7 || s.Life.LastRun != "a" || s.Life.Run != nil {
			t.Errorf("%s is loaded as %+v, %v", data, s, err)
		}
	}
}
