package patch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"streamer/internal/patch"
)

// TestProfilesRandom repairs random histories under the profiles and compares the
// output with a direct implementation of the systems' rules. The report must list
// what the validator finds.
func TestProfilesRandom(t *testing.T) {
	added, refused := map[string]int{}, map[string]int{}
	for seed := range uint64(600 / stride) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := pick(r, patch.Profiles()...)
		shape := patch.LangChain
		switch p {
		case "eino":
			shape = patch.Shape(pick(r, "openai", "anthropic"))
		case "eino-0.8":
			shape = patch.OpenAI
		}
		scenario := someScenario(r, shape)
		for i := range scenario {
			scenario[i].inside = false // the systems expect results in messages of the user
		}
		input := numbered(t, render(shape, scenario))
		o := patch.Options{Profile: p, Dropped: true}
		got := repair(t, shape, input, o)
		want := searched(p, shape, messagesOf(t, input))
		if !slices.Equal(newAndOld(t, p, shape, got.History), want) {
			t.Fatalf("seed %d, profile %s\ninput %s\n  got %s\n want %v", seed, p, input, got.History, want)
		}
		checkOutputs(t, shape, input, o, got)
		broken := validate(shape, "", messagesOf(t, got.History))
		broken = slices.DeleteFunc(broken, func(v violation) bool { return v.Rule == "input_not_object" })
		if got.Report.Sendable != (len(broken) == 0) {
			t.Fatalf("seed %d, profile %s\ninput %s\n  got %s\nreport %s\nbroken %v", seed, p, input, got.History, asJSON(got.Report.ViolationsLeft), broken)
		}
		for _, v := range got.Report.ViolationsLeft {
			refused[v.Rule]++
			if v.Message < 0 || v.Message >= got.Report.In {
				t.Fatalf("seed %d, profile %s\ninput %s\nreport %s", seed, p, input, asJSON(got.Report))
			}
		}
		if slices.Contains(kinds(got.Report), "result_added") {
			added[p+" "+string(shape)]++
		}
	}
	t.Logf("calls answered: %v; left: %v", added, refused)
	if len(added) != 6 || len(refused) < 7 {
		t.Errorf("the histories only reached answers of %v and violations %v", added, refused)
	}
}

// seenMessage has the ids of the calls and results that a system reads in a
// message.
type seenMessage struct{ calls, results []string }

// seenBy returns what a system reads in a message.
func seenBy(profile string, shape patch.Shape, m object) seenMessage {
	var s seenMessage
	for _, b := range objects(m["content"]) {
		switch {
		case shape != patch.Anthropic:
		case b["type"] == "tool_use":
			s.calls = append(s.calls, str(b["id"]))
		case b["type"] == "tool_result":
			s.results = append(s.results, str(b["tool_use_id"]))
		}
	}
	for _, c := range objects(m["tool_calls"]) {
		s.calls = append(s.calls, str(c["id"]))
	}
	if profile == "deepagents" {
		for _, c := range objects(m["invalid_tool_calls"]) {
			s.calls = append(s.calls, str(c["id"]))
		}
	}
	if m["role"] == "tool" || m["type"] == "tool" {
		s.results = append(s.results, str(m["tool_call_id"]))
	}
	return s
}

// searched returns the expected output: the index of an existing message, or the id
// of a new result.
func searched(profile string, shape patch.Shape, messages []object) []any {
	var all []seenMessage
	for _, m := range messages {
		all = append(all, seenBy(profile, shape, m))
	}
	var out []any
	for i, m := range all {
		if profile == "deepagents-js" && len(m.results) > 0 && !isCalled(all, m.results[0]) {
			continue
		}
		out = append(out, i)
		for _, id := range m.calls {
			if !isAnswered(profile, all, i, id) && !(profile == "sagents" && id == "") {
				out = append(out, id)
			}
		}
	}
	return out
}

// isCalled reports whether a message has a call with the id.
func isCalled(all []seenMessage, id string) bool {
	return id != "" && slices.ContainsFunc(all, func(m seenMessage) bool { return slices.Contains(m.calls, id) })
}

// isAnswered reports whether the system finds a result for a call of the message at
// that index.
func isAnswered(profile string, all []seenMessage, at int, id string) bool {
	from := all[at+1:]
	if profile == "deepagents" {
		from = all
	}
	for _, m := range from {
		if slices.Contains(m.results, id) {
			return true
		}
		if profile == "eino" && len(m.results) == 0 {
			return false
		}
	}
	return false
}

// numbered adds its index to each message.
func numbered(t *testing.T, input []byte) []byte {
	messages := messagesOf(t, input)
	for i, m := range messages {
		m["at"] = i
	}
	return []byte(asJSON(messages))
}

// newAndOld returns a repaired numbered history in the form of searched.
func newAndOld(t *testing.T, profile string, shape patch.Shape, history []byte) []any {
	var out []any
	for _, m := range messagesOf(t, history) {
		if at, ok := m["at"]; ok {
			n, err := strconv.Atoi(fmt.Sprint(at))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
			continue
		}
		out = append(out, seenBy(profile, shape, m).results[0])
	}
	return out
}
