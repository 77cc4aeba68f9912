package session

import (
	"bytes"
	"encoding/json"
	"testing"

	"streamer/internal/decode"
	"streamer/internal/decode/anthropic"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/stored/storedtest"
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

// TestStoredFields checks that the stored form has every field of a state: each one
// alone, and all together.
func TestStoredFields(t *testing.T) {
	count := storedtest.Each(func(s *State) {
		s.Read.Decoders[0] = decode.FormatDecoder{Format: "anthropic", Decoder: new(anthropic.Decoder)}
		checkStoredForm(t, s)
	})
	if count < 100 {
		t.Fatalf("%d fields", count)
	}
}

// FuzzLoad checks that no text that is loaded as a state makes Load or Append fail.
func FuzzLoad(f *testing.F) {
	storedtest.Each(func(s *State) {
		s.Read.Decoders[0] = decode.FormatDecoder{Format: "anthropic", Decoder: new(anthropic.Decoder)}
		data, _ := s.Marshal()
		f.Add(data)
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		text := bytes.Clone(data)
		s, err := Load(text)
		if err != nil {
			return
		}
		once, _ := s.Marshal()
		clear(text) // the state must not share it
		if again, _ := s.Marshal(); !bytes.Equal(once, again) {
			t.Fatalf("%s: the state changes with the text\nfrom %s\nto   %s", data, once, again)
		}
	})
}

// checkStoredForm compares the stored form with that of encoding/json, and checks that
// it does not change when it is loaded and stored again.
func checkStoredForm(t *testing.T, s *State) {
	t.Helper()
	got, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(versioned{lifecycle.FoldVersion, s})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := storedtest.Normal(got), storedtest.Normal(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	text := bytes.Clone(got)
	loaded, err := Load(text)
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	clear(text) // the state must not share it
	if again, err := loaded.Marshal(); err != nil || !bytes.Equal(again, got) {
		t.Errorf("stored as %s\n     then %s (%v)", got, again, err)
	}
}
