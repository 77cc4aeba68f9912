package decode

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestFormatsThatClaimArePossible checks that no format claims a frame of which it has no
// key, with the events of all formats and with objects of members of any of them.
func TestFormatsThatClaimArePossible(t *testing.T) {
	const objects = 20_000
	var members []string
	names := []string{"", "", ""}
	claimed := make([]int, len(formats))
	check := func(f wire.Frame) {
		set := possible(f)
		for i, format := range formats {
			if f.Done || format.Claims(f) < wire.Perhaps {
				continue
			}
			claimed[i]++
			if set&(1<<i) == 0 {
				t.Errorf("event named %q: %s\nis claimed by %s, and has none of its keys", f.Name, f.JSON.Raw, format.Name)
			}
		}
	}
	for _, f := range ownFrames(t) {
		check(f)
		if f.Name != "" {
			names = append(names, f.Name)
		}
		for m := f.JSON.Members(); m.Next(); {
			members = append(members, m.RawKey+":"+m.Value.Raw)
			if m.Key == "type" {
				names = append(names, m.Value.Str)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range objects / stride {
		object := make([]string, 1+random.IntN(6))
		for i := range object {
			object[i] = members[random.IntN(len(members))]
		}
		check(wire.Frame{Name: names[random.IntN(len(names))], JSON: jsonscan.ValueOf("{" + strings.Join(object, ",") + "}")})
	}
	for i, n := range claimed {
		if name := formats[i].Name; n == 0 && name != "mistral" {
			t.Errorf("no event is claimed by %s", name)
		}
	}
}

// ownFrames returns the events of the streams in testdata that are one JSON text per line.
func ownFrames(t *testing.T) (list []wire.Frame) {
	t.Helper()
	for _, file := range glob(t, "testdata", "*/*.jsonl") {
		for _, event := range frames(t, file) {
			if len(event.text) < 4<<10 {
				list = append(list, event.frame)
			}
		}
	}
	return list
}

// TestMostFormatsAreNotPossible checks the formats that remain by the keys of an event.
func TestMostFormatsAreNotPossible(t *testing.T) {
	for event, want := range map[string][]string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}`: {"openai-chat", "langchain"},
		`{"candidates":[],"usageMetadata":{},"responseId":"r"}`:                            {"langchain", "gemini"},
		`{"model":"m","created_at":"t","message":{},"done":false}`:                         {"langchain", "langgraph-protocol", "ollama", "claude-code", "strands"},
		`{"jsonrpc":"2.0","method":"session/update","params":{}}`:                          {"langchain", "langgraph-protocol", "acp", "codex-app-server"},
		`[]`: {"langchain"},
	} {
		t.Run(fmt.Sprintf("%.60s", event), func(t *testing.T) {
			var got []string
			for i, format := range formats {
				if possible(wire.Frame{JSON: jsonscan.ValueOf(event)})&(1<<i) != 0 {
					got = append(got, format.Name)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\n got %q\nwant %q", event, got, want)
			}
		})
	}
}
