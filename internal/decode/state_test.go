package decode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
)

// TestStateRoundTrip stores and loads the state after each input of every
// stream in testdata. The loaded state must be stored as the same bytes, and
// the stream must be read as without the interruption.
func TestStateRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in testdata: %v", err)
	}
	stored := map[string]int{} // the size of the largest state of each format
	for _, file := range files {
		t.Run(filepath.ToSlash(strings.TrimSuffix(file, ".jsonl")), func(t *testing.T) { roundTrip(t, file, stored) })
	}
	for _, f := range formats {
		fields := reflect.TypeOf(f.New()).Elem().NumField()
		if _, shares := f.(wire.Sharer); !shares && fields > 0 && stored[f.Name()] <= len("{}") && f.Name() != "mistral" { // as openai-chat
			t.Errorf("no stream stores a state of the format %s", f.Name())
		}
	}
}

func roundTrip(t *testing.T, file string, stored map[string]int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept, loaded State
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		want, got := transcript(new(Reader), &kept, line, ""), transcript(new(Reader), &loaded, line, "")
		if got != want {
			t.Fatalf("input %s\nafter loading %s\nwant          %s", line, got, want)
		}
		first, err := json.Marshal(loaded)
		if err != nil {
			t.Fatal(err)
		}
		loaded = State{}
		if err := json.Unmarshal(first, &loaded); err != nil {
			t.Fatalf("input %s\nstate %s: %v", line, first, err)
		}
		for _, d := range kept.Decoders {
			state, _ := json.Marshal(d.Decoder)
			stored[d.Format] = max(stored[d.Format], len(state))
		}
		if again, _ := json.Marshal(loaded); !bytes.Equal(again, first) {
			t.Fatalf("input %s\nstate %s\nagain %s", line, first, again)
		}
	}
}

// TestStateClone checks that reading on with a copy leaves the State that was
// copied as it is.
func TestStateClone(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams in testdata: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var state State
		for line := range bytes.Lines(data) {
			before, _ := json.Marshal(state)
			next := state.Clone()
			transcript(new(Reader), &next, bytes.TrimSpace(line), "")
			if after, _ := json.Marshal(state); !bytes.Equal(before, after) {
				t.Fatalf("%s: input %s\nchanges the state %s\nto %s", file, line, before, after)
			}
			state = next
		}
	}
}

// TestStateUnknown checks that a state which this version cannot load is an
// error that names the format.
func TestStateUnknown(t *testing.T) {
	for stored, want := range map[string]string{
		`{"f":"openai-chat","d":[{"f":"telepathy","s":{}}]}`: `decode: the state is of an unknown format "telepathy"`,
		`{"d":[{"f":"anthropic","s":{"m":1}}]}`:              "decode: state of the format anthropic: ",
		`{"d":[{"f":"anthropic","s":[]}]}`:                   "decode: state of the format anthropic: ",
		`{"d":[{"f":1}]}`:                                    "decode: state of a format: ",
	} {
		var s State
		if err := json.Unmarshal([]byte(stored), &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", stored, err, want)
		}
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
	stored, _ := json.Marshal(state)
	var loaded State
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	const delta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"y"}}`
	if got, want := transcript(new(Reader), &loaded, []byte(delta), ""), "text Message=\"m\" Text=\"y\"\n"; got != want {
		t.Errorf("state %s\n got %s\nwant %s", stored, got, want)
	}
	if n := len(loaded.Decoders); n != 3 {
		t.Errorf("state %s: %d decoders, want 3", stored, n)
	}
}
