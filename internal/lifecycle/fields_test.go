package lifecycle

import (
	"strings"
	"testing"

	"streamer/internal/stored"
	"streamer/internal/stored/storedtest"
)

// TestFields checks that the stored form has every field of a state: each one alone, and
// all together.
func TestFields(t *testing.T) {
	count := storedtest.Each(func(s *State) { storedtest.Check(t, s, (*State).Fields) })
	if count < 90 {
		t.Fatalf("%d fields", count)
	}
}

// TestFieldsOrder checks that members may come in any order, and that unknown ones and
// null have no effect.
func TestFieldsOrder(t *testing.T) {
	const text = ` {"memory" : {"closed":[{"id":"a","call":"1.1"}, {"new":[{}],"id":"\u00e9\ud83d\ude00\ud800"}],"messages":["m", null]},
		"human":null, "later":{"a":[1,"]"]}, "":1, "last":null,
		"messages":[{"run":"1.0","calls":{"refused":true,"calls":[{"weak":"w","state":{"wait":"i","call":"1.1","sent":null},"kind":"custom"}]}}],
		"run":{"rests":true,"asked":{},"id":"1.0"},"time":"2026-01-02T03:04:05.678912+01:00","first":18446744073709551615,"ids":0} `
	s := storedtest.Load(t, text, (*State).Fields)
	if len(s.Memory.Closed) != 2 || !s.Run.Rests || s.First != 1<<64-1 || s.Messages[0].Calls[0].Kind() != "custom" {
		t.Errorf("loaded %+v", s)
	}
}

// TestFieldsDamaged checks that a state that is damaged causes an error that states
// where.
func TestFieldsDamaged(t *testing.T) {
	for text, want := range map[string]string{
		``:                            `the JSON text ends before it is complete at offset 0`,
		`[]`:                          `'[' where an object is expected at offset 0`,
		`{"ids":1`:                    `the JSON text ends before it is complete at offset 8`,
		`{"ids":1,}`:                  `'}' where a key in double quotes is expected at offset 9`,
		`{"ids":1} {`:                 `'{' where nothing more is expected at offset 10`,
		`{"ids":1 "first":2}`:         `'"' where a comma or } is expected at offset 9`,
		`{"ids" 1}`:                   `'1' where a colon is expected at offset 7`,
		`{"ids":4294967296}`:          `ids: a number that is too large before offset 17`,
		`{"ids":-1}`:                  `ids: a number that is too large before offset 9`,
		`{"first":1e3}`:               `first: 'e' where an integer is expected at offset 10`,
		`{"first":01}`:                `first: '}' where an integer is expected at offset 11`,
		`{"first":1.5}`:               `first: '.' where an integer is expected at offset 10`,
		`{"time":1}`:                  `time: '1' where a string is expected at offset 8`,
		`{"time":"today"}`:            `time: events: timestamp: `,
		`{"run":{"failed":"x"}}`:      `run.failed: '"' where a boolean is expected at offset 17`,
		`{"run":{"id":"\x"}}`:         `run.id: 'x' where the rest of an escape is expected at offset 15`,
		"{\"run\":{\"id\":\"\xff\"}}": `run.id: a byte that is no valid UTF-8 (byte 0xFF) at offset 14`,
		`{"messages":[{"calls":{"calls":[{"text":"!"}]}}]}`: `messages.calls.calls.text: illegal base64 data at input byte 0 before offset 43`,
		`{"messages":[{},]}`: `messages: ']' where an object is expected at offset 16`,
		`{"messages":[{}`:    `messages: the JSON text ends before it is complete at offset 15`,
		`{"new":[1,}`:        `'}' where a JSON value is expected at offset 10`,
	} {
		var s State
		if err := stored.Load(text, &s, (*State).Fields); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzFields(f *testing.F) {
	storedtest.Each(func(s *State) { f.Add(string(stored.Append(nil, s, (*State).Fields))) })
	f.Fuzz(func(t *testing.T, text string) { storedtest.Compare(t, text, (*State).Fields) })
}
