package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// TestResultsLeaveEvents checks that each different result which a session accepts leaves
// an event, whatever closes its call: with args that are whole, cut or absent, and ids that
// repeat, come late or never.
func TestResultsLeaveEvents(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 0))
		state, rules := new(State), DefaultRules()
		left, steps := map[string]bool{}, []string(nil)
		ids := []string{"a", "a", "b", "c"}
		var sent []string
		for seq := range uint64(4 + r.IntN(24)) {
			st := New(nil, state, &rules, "s", seq+1, events.Time(seq*uint64(r.IntN(200_000))), false)
			st.Shape = "openai"
			id, message := ids[r.IntN(len(ids))], fmt.Sprint("m", r.IntN(2))
			switch step := r.IntN(12); step {
			case 0, 1, 2:
				c := chunks.Chunk{Kind: chunks.Fragment, Message: message, Index: fmt.Sprint(r.IntN(3)), ID: id, Name: "f", Args: []string{"{}", `{"x":`, `{"x":1}`, ""}[r.IntN(4)]}
				if r.IntN(4) == 0 {
					c.Name = ""
				}
				steps = append(steps, fmt.Sprintf("%+v", c))
				st.Chunks([]chunks.Chunk{c})
			case 3, 4, 5, 6:
				text := fmt.Sprint("ran ", seq)
				if len(sent) > 0 && r.IntN(6) == 0 {
					text = sent[r.IntN(len(sent))]
				}
				sent, steps = append(sent, text), append(steps, "result "+id+" "+text)
				st.Chunks([]chunks.Chunk{{Kind: chunks.Result, ID: id, Text: text}})
			case 7:
				steps = append(steps, "interrupt")
				st.Interrupt(Interrupt{})
			case 8:
				steps = append(steps, "interrupt "+id)
				st.Interrupt(Interrupt{IDs: []string{id}})
			case 9:
				steps = append(steps, "human")
				st.Chunks([]chunks.Chunk{{Kind: chunks.Human, ID: fmt.Sprint("h", seq), Text: "Stop."}})
			case 10:
				reason := []string{"tool_calls", "length"}[r.IntN(2)]
				steps = append(steps, reason)
				st.Chunks([]chunks.Chunk{{Kind: chunks.Finish, Message: message, Reason: reason, Truncated: reason == "length"}})
			case 11:
				steps = append(steps, "end")
				st.End(events.Cancelled, "")
			}
			for _, e := range st.Done() {
				if !e.Synthetic {
					left[string(e.ToolResult)] = true
				}
			}
		}
		st := New(nil, state, &rules, "s", 1000, state.Time, false)
		st.Interrupt(Interrupt{})
		for _, e := range st.Done() {
			left[string(e.ToolResult)] = left[string(e.ToolResult)] || !e.Synthetic
		}
		for _, text := range sent {
			if !left[string(events.Quote(text))] {
				t.Fatalf("seed %d: the result %q left no event\n%q", seed, text, steps)
			}
		}
	}
}
