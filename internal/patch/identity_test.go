package patch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// loggedCall is a call of a random session.
type loggedCall struct {
	toolCall
	uid, namespace string
	edited         string // its args after an edit by a person, "" for none
	result         bool   // it has a real result, which names the call by its number
}

// someSession returns a random session and its log: ids, names and args repeat, and some
// calls are those of a subagent.
func someSession(r *rand.Rand, noIDs bool) (calls []loggedCall, log []patch.Outcome) {
	var o patch.Outcomes
	used, seq := map[string]bool{}, uint64(0)
	for n := range 2 + r.IntN(29) {
		c := loggedCall{toolCall: toolCall{id: pick(r, "call_0", "call_0", "call_1", fmt.Sprintf("call_x%d", n)), name: pick(r, "f", "f", "g"), args: pick(r, `{"p":0}`, `{"p":1,"q":"x"}`, `{"p":[12345678901234567890]}`, `{"p":[12345678901234567891]}`)}}
		if noIDs {
			c.id = fmt.Sprintf("call_s%d", n)
		}
		if r.IntN(4) == 0 {
			c.namespace = pick(r, "sub", "sub:1", "a:1|b:2")
		}
		name := fmt.Sprintf("%d.0", n+1)
		if c.uid = c.id; used[c.id] {
			c.uid += "~" + name
		}
		used[c.id], used[c.uid] = true, true
		emit := func(e events.Event) {
			seq++
			e.Place, e.Call, e.ID, e.UID, e.ToolName, e.IDSynthesized = &events.Place{Namespace: c.namespace}, name, c.id, c.uid, c.name, noIDs
			o.Add(seq, &e)
		}
		emit(events.Event{Type: events.ToolCallStart})
		text := strings.ReplaceAll(strings.ReplaceAll(c.args, ":", " : "), "0}", "0.0}")
		if r.IntN(5) == 0 {
			text = `{"q":"x","p":1.0}`
			c.args = `{"p":1,"q":"x"}`
		}
		half := r.IntN(len(text))
		emit(events.Event{Type: events.ToolCallArgsDelta, Offset: events.OffsetAt(0), Args: text[:half]})
		emit(events.Event{Type: events.ToolCallArgsDelta, Offset: events.OffsetAt(half), Args: text[half:]})
		valid := true
		if r.IntN(4) > 0 { // else it was closed before
			emit(events.Event{Type: events.ToolCallArgsComplete, ArgsText: &text, ArgsValid: &valid})
			if r.IntN(8) == 0 {
				c.edited = pick(r, `{"p":0}`, `{"p":7}`)
				emit(events.Event{Type: events.ToolCallAnswered, ToolArgs: []byte(c.edited)})
			}
		}
		content := json.RawMessage(fmt.Sprintf(`"ran-%d."`, n))
		c.result = r.IntN(3) > 0
		if r.IntN(3) == 0 || !c.result && r.IntN(2) == 0 {
			emit(events.Event{Type: events.ToolCallResult, Status: events.Cancelled, Synthetic: true, Reason: &events.Reason{Code: events.ByInterrupt, Text: "Stop."}})
			if c.result {
				emit(events.Event{Type: events.ToolCallLateResult, Status: events.Completed, ToolResult: content})
			}
		} else if c.result {
			emit(events.Event{Type: events.ToolCallResult, Status: events.Completed, ToolResult: content})
		}
		calls = append(calls, c)
	}
	return calls, o.Log()
}

// historyOf returns a history of a session, one call per turn, behind a user's text that
// names the call by its number: all calls of the main agent, those of a branch, or those that a
// compaction left. It has the ids of the provider or the uids, some of the results, and it is cut.
func historyOf(r *rand.Rand, calls []loggedCall, noIDs bool) (h []event) {
	uids, keep := r.IntN(2) == 0, r.IntN(3)
	for n, c := range calls {
		if c.namespace != "" || keep == 1 && n > 0 && r.IntN(3) == 0 || keep == 2 && n < len(calls)/2 {
			continue
		}
		if uids {
			c.id = c.uid
		}
		if noIDs && !uids {
			c.id = ""
		}
		if c.edited != "" && r.IntN(2) == 0 {
			c.args = c.edited
		}
		h = append(h, event{kind: "user", text: fmt.Sprintf("turn-%d.", n)}, event{kind: "turn", calls: []toolCall{c.toolCall}})
		switch r.IntN(4) {
		case 0:
			h = append(h, event{kind: "result", id: c.id, name: c.name, text: "aborted", fake: true})
		case 1:
			if c.result {
				h = append(h, event{kind: "result", id: c.id, name: c.name, text: fmt.Sprintf("ran-%d.", n)})
			}
		}
	}
	if len(h) > 2 && r.IntN(2) == 0 {
		from := r.IntN(len(h) - 1)
		h = h[from : from+1+r.IntN(len(h)-from)]
	}
	return append(h, event{kind: "user", text: "turn-end."})
}

var marks = regexp.MustCompile(`(turn|ran)-(\d+|end)\.`)

// TestIdentity checks that with the log of the session no call gets the result of a call
// with another name or other args, in all shapes.
func TestIdentity(t *testing.T) {
	n, seed := sampleSize(t, 4000/stride)
	added, refused := map[patch.Shape]int{}, 0
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 1))
		shape := tested[r.IntN(len(tested))]
		noIDs := shape == patch.Gemini && r.IntN(2) == 0
		calls, log := someSession(r, noIDs)
		h := historyOf(r, calls, noIDs)
		input := render(shape, h)
		got, err := patch.Repair(shape, input, patch.Options{Late: pick(r, "replace", "auto"), Log: log})
		if err != nil {
			refused++
			continue
		}
		turns := map[int]toolCall{} // by number
		for k := range h {
			if k > 0 && h[k].kind == "turn" && h[k-1].kind == "user" {
				number, _ := strconv.Atoi(strings.Trim(h[k-1].text, "turn-."))
				turns[number] = h[k].calls[0]
			}
		}
		owner, known := toolCall{}, false
		for _, m := range marks.FindAllStringSubmatch(string(got.History), -1) {
			number, _ := strconv.Atoi(m[2])
			if m[1] == "turn" {
				owner, known = turns[number]
				continue
			}
			if of := calls[number]; known && (of.name != owner.name || owner.args != of.args && owner.args != of.edited) {
				t.Fatalf("STREAMER_SEED=%d: the result %s of %s %s answers %s %s\n%s\n%s", seed+uint64(i), m[0], of.name, of.args, owner.name, owner.args, input, got.History)
			}
		}
		for _, op := range got.Report.Ops {
			if op.Reason == "log" {
				added[shape]++
			}
		}
	}
	t.Logf("%d histories, %d refused, results of the log: %v", n, refused, added)
	if n >= 1000 && (len(added) < len(tested) || refused > n/20) {
		t.Errorf("%d refused, results of the log: %v", refused, added)
	}
}

// TestCanonicalArgs checks which args are those of the same call.
func TestCanonicalArgs(t *testing.T) {
	for _, c := range []struct {
		log, history string // the text of the model, and a JSON value
		same         bool
	}{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1}`, true},
		{`{"a":1,"b":2}`, `"{\"b\":2, \"a\":1}"`, true},
		{`"{\"a\":1}"`, `{"a":1}`, true},
		{``, `{}`, true},
		{` null `, `null`, true},
		{`{}`, `""`, true},
		{`{"a":1.50}`, `{"a":15e-1}`, true},
		{`{"a":100}`, `{"a":1E2}`, true},
		{`{"a":-0.0}`, `{"a":0}`, true},
		{`{"a":"\u00e9"}`, `{"a":"é"}`, true},
		{`{"a":1,"a":2}`, `{"a":2}`, true},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":1}`, `{"a":-1}`, false},
		{`{"a":10}`, `{"a":1}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":{"b":1}}`, `{"a":{},"b":1}`, false},
		{`{"a":`, `"{\"a\":"`, true},
		{`{"a":`, `"{\"b\":"`, false},
	} {
		o := patch.Outcome{ID: "x", UID: "x", Name: "f", Content: json.RawMessage(`"ran"`)}
		o.SetArgs([]byte(c.log))
		in := `[{"type":"ai","content":"","tool_calls":[{"id":"x","name":"f","args":` + c.history + `}]}]`
		got, err := patch.Repair(patch.LangChain, []byte(in), patch.Options{Log: []patch.Outcome{o}})
		if same := strings.Contains(string(got.History), `"ran"`); err != nil || same != c.same {
			t.Errorf("%s and %s: %v, want %v (%v)", c.log, c.history, same, c.same, err)
		}
	}
}

// TestOutcomeOf checks whose outcome a call gets if more than its args is to be compared.
func TestOutcomeOf(t *testing.T) {
	outcome := func(id, uid, namespace, args, content string) patch.Outcome {
		o := patch.Outcome{ID: id, UID: uid, Namespace: namespace, Name: "f", Content: json.RawMessage(strconv.Quote(content))}
		o.SetArgs([]byte(args))
		return o
	}
	call := func(id, args string) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"f","arguments":%q}}]}`, id, args)
	}
	for _, c := range []struct {
		name  string
		calls []string
		log   []patch.Outcome
		want  string // the results
	}{
		{"the subagent used the id first", []string{call("a", "{}")}, []patch.Outcome{outcome("a", "a", "sub", "{}", "sub"), outcome("a", "a~2.0", "", "{}", "main")}, "main"},
		{"only the subagent used the id", []string{call("a", "{}")}, []patch.Outcome{outcome("a", "a", "sub", "{}", "sub")}, "sub"},
		{"a call of the subagent has its uid", []string{call("a~2.0", "{}")}, []patch.Outcome{outcome("a", "a", "", "{}", "main"), outcome("a", "a~2.0", "sub", "{}", "sub")}, "sub"},
		{"no name and args of the subagent", []string{call("b", "{}")}, []patch.Outcome{outcome("a", "a", "sub", "{}", "sub")}, ""},
		{"the root graph of LangGraph", []string{call("a", "{}"), call("a", `{"x":1}`)}, []patch.Outcome{outcome("a", "a", "agent:1", "{}", "first"), outcome("a", "a~2.0", "agent:2", `{"x":1}`, "second"), outcome("a", "a~3.0", "sub:3|agent:4", "{}", "sub")}, "first second"},
		{"an id that was renamed", []string{call("b", "{}")}, []patch.Outcome{outcome("a", "a", "", "{}", "ran")}, "ran"},
		{"two have its args", []string{call("c", "{}")}, []patch.Outcome{outcome("a", "a", "", "{}", "ran"), outcome("b", "b", "", "{}", "other")}, ""},
		{"one of them is another call's", []string{call("c", "{}"), call("b", "{}")}, []patch.Outcome{outcome("a", "a", "", "{}", "ran"), outcome("b", "b", "", "{}", "other")}, "ran other"},
		{"its id, with the args of another use", []string{call("a", `{"x":2}`)}, []patch.Outcome{outcome("a", "a", "", `{"x":1}`, "ran")}, ""},
		{"a result without a call", []string{call("a", "{}")}, []patch.Outcome{{ID: "a", Content: json.RawMessage(`"lost"`)}}, "lost"},
		{"two of them", []string{call("a", "{}")}, []patch.Outcome{{ID: "a", Content: json.RawMessage(`"lost"`)}, {ID: "a", Content: json.RawMessage(`"other"`)}}, ""},
		{"its id is used twice", []string{call("a", "{}"), call("a", `{"x":1}`)}, []patch.Outcome{{ID: "a", Content: json.RawMessage(`"lost"`)}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := repair(t, patch.OpenAI, []byte("["+strings.Join(c.calls, ",")+"]"), patch.Options{Log: c.log})
			var results []string
			for _, m := range messagesOf(t, got.History) {
				if text := str(m["content"]); m["role"] == "tool" && !strings.Contains(text, "no result was recorded") {
					results = append(results, text)
				}
			}
			if !slices.Equal(results, strings.Fields(c.want)) {
				t.Errorf("got %q, want %q", results, c.want)
			}
		})
	}
}
