package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/claudecode"
	"streamer/internal/stored"
)

// form returns the stored form of a State.
func form(s *State) string { return string(stored.Append(nil, s, (*State).Fields)) }

// reloaded stores and loads a State. The loaded one must be stored as the same bytes.
func reloaded(t testing.TB, s *State) *State {
	t.Helper()
	once, loaded := form(s), new(State)
	if err := stored.Load([]byte(once), loaded, (*State).Fields); err != nil {
		t.Fatalf("%q: %v", once, err)
	}
	if again := form(loaded); again != once {
		t.Fatalf("stored as %q\n     then %q", once, again)
	}
	return loaded
}

// TestStateRoundTrip stores and loads the state after each input of every
// stream in testdata. The loaded state must be stored as the same bytes, and
// the stream must be read as without the interruption.
func TestStateRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in testdata: %v", err)
	}
	sizes := map[string]int{} // the size of the largest state of each format
	for _, file := range files {
		t.Run(filepath.ToSlash(strings.TrimSuffix(file, ".jsonl")), func(t *testing.T) { roundTrip(t, file, sizes) })
	}
	for _, f := range formats {
		fields := reflect.TypeOf(f.New()).Elem().NumField()
		if f.View == nil && fields > 0 && sizes[f.Name] == 0 && f.Name != "mistral" { // as openai-chat
			t.Errorf("no stream stores a state of the format %s", f.Name)
		}
	}
}

func roundTrip(t *testing.T, file string, sizes map[string]int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept State
	loaded := new(State)
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		want, got := transcript(new(Reader), &kept, line, ""), transcript(new(Reader), loaded, line, "")
		if got != want {
			t.Fatalf("input %s\nafter loading %s\nwant          %s", line, got, want)
		}
		loaded = reloaded(t, loaded)
		for _, d := range kept.Decoders {
			empty := State{Decoders: []FormatDecoder{{d.Format, find(d.Format).New()}}}
			alone := State{Decoders: []FormatDecoder{d}}
			sizes[d.Format] = max(sizes[d.Format], len(form(&alone))-len(form(&empty)))
		}
	}
}

// TestStateUnknown checks that a state which this version cannot load is an
// error that names the format.
func TestStateUnknown(t *testing.T) {
	for want, d := range map[string]FormatDecoder{
		`d: decode: the state is of an unknown format "telepathy" at offset 18`: {"telepathy", new(anthropic.Decoder)},
		`d: decode: the state is of an unknown format "" at offset 6`:           {"", new(anthropic.Decoder)},
		`d.s.m: an object where a text is expected at offset 21`:                {"anthropic", &claudecode.Decoder{Root: claudecode.Agent{Parent: "p"}}},
	} {
		t.Run(want, func(t *testing.T) {
			data := form(&State{Decoders: []FormatDecoder{d}})
			if err := stored.Load([]byte(data), new(State), (*State).Fields); err == nil || err.Error() != want {
				t.Errorf("%q: error %v, want %s", data, err, want)
			}
		})
	}
}

// TestStateFormats checks that a session keeps the decoder of a format while it
// reads another one.
func TestStateFormats(t *testing.T) {
	var state State
	for _, input := range []string{
		`{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}`,
		`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"x"}}}`,
		`{"id":"c","choices":[{"delta":{"content":"x"}}]}`,
	} {
		transcript(new(Reader), &state, []byte(input), "")
	}
	loaded := reloaded(t, &state)
	const delta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"y"}}`
	if got, want := transcript(new(Reader), loaded, []byte(delta), ""), "text Message=\"m\" Text=\"y\"\n"; got != want {
		t.Errorf("state %+v\n got %s\nwant %s", loaded, got, want)
	}
	if n := len(loaded.Decoders); n != 3 {
		t.Errorf("state %+v: %d decoders, want 3", loaded, n)
	}
}
