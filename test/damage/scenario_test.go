package damage

import (
	"fmt"
	"strings"
)

// input is an input to publish. kind is the last segment of its URL.
type input struct{ kind, key, body string }

// conversation is a session of the scenario.
type conversation struct {
	session string
	early   []input // published before the older copy is made
	late    []input // published after it
	behind  []input // published after late is covered by snapshots and checkpoints
	rest    []input // published after the damage; they close the open calls
	answers []reply // the results in rest
	calls   int     // calls that are open before rest
}

// reply is a result: the id of its call, and its text.
type reply struct{ id, text string }

// scenario returns thirty sessions in every state that a session can be in.
func scenario() []conversation {
	var all []conversation
	add := func(n int, kind string, fill func(t *conversation)) {
		for i := range n {
			t := conversation{session: fmt.Sprintf("%s-%d", kind, i)}
			fill(&t)
			all = append(all, t)
		}
	}
	add(3, "closed", func(t *conversation) { t.early = append(t.opens("c1", small), t.result("c1")) })
	add(3, "closed-late", func(t *conversation) { t.early, t.late = t.opens("c1", small), []input{t.result("c1")} })
	add(6, "open", func(t *conversation) { t.early = t.opens("c1", small); t.waits("c1") })
	add(6, "open-late", func(t *conversation) { t.late = t.opens("c1", small); t.waits("c1") })
	add(3, "second-open", func(t *conversation) {
		t.early, t.late = append(t.opens("c1", small), t.result("c1")), t.opens("c2", small)
		t.waits("c2")
	})
	add(1, "half-closed", func(t *conversation) {
		t.early, t.late = append(t.opens("c1", small), t.opens("c2", small)...), []input{t.result("c1")}
		t.waits("c2")
	})
	add(2, "building", func(t *conversation) { t.early, t.calls = t.begins("c1"), 1 })
	add(2, "building-on", func(t *conversation) {
		t.early, t.late, t.calls = t.begins("c1"), []input{t.delta("on", args("c1", `, "and": "more`))}, 1
	})
	add(1, "text", func(t *conversation) {
		t.early = []input{t.delta("text", `{"role":"assistant","content":"Nothing to call."}`)}
	})
	add(1, "awaiting", func(t *conversation) { t.early, t.calls = t.asks("c1"), 1; t.rest = []input{t.answer("c1")} })
	add(1, "large-args", func(t *conversation) { t.late = t.opens("c1", strings.Repeat("large ", 30_000)); t.waits("c1") })
	add(1, "large-result", func(t *conversation) {
		t.late = append(t.opens("c1", small), input{"results", "result-c1", fmt.Sprintf(`{"tool_call_id":"c1","content":%q}`, strings.Repeat("large ", 30_000))})
	})
	return all
}

const small = "Paris"

// chunk returns a delta in the format of OpenAI's chat completions.
func (t *conversation) chunk(key, message, delta, finish string) input {
	return input{"deltas", key, fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, message, delta, finish)}
}

// delta returns a delta of the message of the call c1.
func (t *conversation) delta(key, delta string) input { return t.chunk(key, "m-c1", delta, "null") }

// args returns a delta with a fragment of the args of the first call.
func args(id, piece string) string {
	return fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%q,"function":{"name":"search","arguments":%q}}]}`, id, piece)
}

// opens returns the inputs of a message with one call whose args are complete.
func (t *conversation) opens(id, value string) []input {
	message := "m-" + id
	return []input{
		t.chunk("start-"+id, message, args(id, `{"q": "`), "null"),
		t.chunk("args-"+id, message, fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, value+`"}`), "null"),
		t.chunk("end-"+id, message, `{}`, `"tool_calls"`),
	}
}

// begins returns the inputs of a call whose args stay incomplete.
func (t *conversation) begins(id string) []input {
	return []input{t.delta("start-"+id, args(id, `{"q": "Par`))}
}

// asks returns the inputs of a call that waits for a person.
func (t *conversation) asks(id string) []input {
	of := `{"langgraph_node":"agent","langgraph_checkpoint_ns":"agent:1","checkpoint_ns":"agent:1","thread_id":"t"}`
	return []input{
		{"deltas", "start-" + id, fmt.Sprintf(`{"event":"messages","data":[{"content":"","type":"AIMessageChunk","id":"run--1","tool_calls":[],"tool_call_chunks":[{"name":"pay","args":"{\"sum\":5}","id":%q,"index":0,"type":"tool_call_chunk"}]},%s]}`, id, of)},
		{"deltas", "end-" + id, fmt.Sprintf(`{"event":"messages","data":[{"content":"","response_metadata":{"finish_reason":"tool_calls"},"type":"AIMessageChunk","id":"run--1","tool_calls":[],"tool_call_chunks":[]},%s]}`, of)},
		{"deltas", "ask-" + id, `{"event":"updates","data":{"__interrupt__":[{"value":{"ask":"pay"},"id":"64cdf32bbfc3819681ea85b7e4d53c08"}]}}`},
	}
}

// waits records that a call is open, and adds the input that closes it.
func (t *conversation) waits(id string) { t.calls++; t.rest = append(t.rest, t.answer(id)) }

// result returns the result that is published before the damage.
func (t *conversation) result(id string) input {
	return input{"results", "result-" + id, fmt.Sprintf(`{"tool_call_id":%q,"content":"early result of %s"}`, id, id)}
}

// answer returns the result that is published after the damage.
func (t *conversation) answer(id string) input {
	r := reply{id, "result of " + t.session + " after the damage"}
	t.answers = append(t.answers, r)
	return input{"results", "answer-" + id, fmt.Sprintf(`{"tool_call_id":%q,"content":%q}`, id, r.text)}
}

// open returns how many calls of the scenario are open.
func open(all []conversation) (n int) {
	for i := range all {
		n += all[i].calls
	}
	return n
}
