package patch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
)

// TestSpellings repairs random histories in a format and in its other spelling. Both
// repairs do the same.
func TestSpellings(t *testing.T) {
	n, seed := sampleSize(t, 400/stride)
	compared := map[patch.Shape]int{}
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 4))
		for _, c := range []struct {
			of, as  patch.Shape
			without string // what only the first format has
			spell   func(m object) object
		}{
			{patch.AIModel, patch.OpenTelemetry, "tool-approval providerExecuted", inOpenTelemetry},
			{patch.Responses, patch.OpenAIAgents, "custom_tool local_shell exit_code", inAgents},
		} {
			base := spelled(t, render(c.of, someScenario(r, c.of)), withoutToolNames)
			o := someOptions(r, c.of)
			o.Provider, o.Dropped = "", false
			if slices.ContainsFunc(strings.Fields(c.without), func(w string) bool { return bytes.Contains(base, []byte(w)) }) {
				continue
			}
			want, err := patch.Repair(c.of, base, o)
			input := spelled(t, base, c.spell)
			got, otherErr := patch.Repair(c.as, input, o)
			switch {
			case (err == nil) != (otherErr == nil):
				t.Fatalf("STREAMER_SEED=%d %s: %v, %s: %v\ninput %s", seed+uint64(i), c.of, err, c.as, otherErr, input)
			case err != nil:
				continue
			case !want.Report.Patched && !bytes.Equal(got.History, input):
				t.Fatalf("STREAMER_SEED=%d changed\ninput %s\n  got %s", seed+uint64(i), input, got.History)
			}
			compared[c.as]++
			if w, g := spelled(t, spelled(t, spelled(t, want.History, withoutToolNames), c.spell), withoutNames), spelled(t, got.History, withoutNames); !sameJSON(t, w, g) || want.Report.Sendable != got.Report.Sendable || opsOf(want) != opsOf(got) {
				for i, m := range canonical(t, w) {
					if now := canonical(t, g); i >= len(now) || now[i] != m {
						t.Errorf("message %d is not %s", i, m)
					}
				}
				t.Fatalf("STREAMER_SEED=%d options %s\ninput %s\n  got %s\n ops %s\nwant %s", seed+uint64(i), asJSON(o), input, g, opsOf(got), opsOf(want))
			}
			checkFixpoint(t, c.as, got.History, o)
		}
	}
	if len(compared) < 2 && n > 20 {
		t.Errorf("compared %v", compared)
	}
}

// opsOf returns the changes without the hashes of contents, in which names differ.
func opsOf(r patch.Repaired) string {
	ops := slices.Clone(r.Report.Ops)
	for i := range ops {
		ops[i].Hash = ""
	}
	return asJSON(ops)
}

// spelled returns a history with other messages.
func spelled(t *testing.T, history []byte, spell func(object) object) []byte {
	t.Helper()
	var messages []object
	readJSON(t, history, &messages)
	for i, m := range messages {
		messages[i] = spell(m)
	}
	return []byte(asJSON(messages))
}

// withoutToolNames removes from results what the second spelling does not have.
func withoutToolNames(m object) object {
	parts, _ := m["content"].([]any)
	for _, p := range parts {
		if part := p.(object); part["type"] == "tool-result" {
			delete(part, "toolName")
		}
	}
	return m
}

// withoutNames removes what the second spelling adds to a new result.
func withoutNames(m object) object {
	if m["type"] == "function_call_result" {
		delete(m, "name")
		delete(m, "status")
	}
	return m
}

func inOpenTelemetry(m object) object {
	parts := []any{}
	switch content := m["content"].(type) {
	case string:
		parts = append(parts, object{"type": "text", "content": content})
	case []any:
		for _, p := range content {
			part := p.(object)
			switch part["type"] {
			case "tool-call":
				part = object{"type": "tool_call", "id": part["toolCallId"], "name": part["toolName"], "arguments": part["input"]}
			case "tool-result":
				value, ok := part["output"].(object)["value"]
				if !ok {
					value = part["output"]
				}
				part = object{"type": "tool_call_response", "id": part["toolCallId"], "response": value}
			case "text":
				part = object{"type": "text", "content": part["text"]}
			}
			parts = append(parts, part)
		}
	}
	return object{"role": m["role"], "parts": parts}
}

func inAgents(m object) object {
	if id, ok := m["call_id"]; ok {
		m["callId"] = id
		delete(m, "call_id")
	}
	switch m["type"] {
	case "function_call_output", "computer_call_output":
		m["type"] = strings.TrimSuffix(m["type"].(string), "output") + "result"
	case "shell_call_output":
		chunks, _ := m["output"].([]any)
		for _, chunk := range chunks {
			if of, ok := chunk.(object)["outcome"].(object); ok && of["exit_code"] != nil {
				of["exitCode"] = of["exit_code"]
				delete(of, "exit_code")
			}
		}
	}
	return m
}

// TestClaudeRows repairs random sessions of Claude Code. Each call then has one result,
// the last row leads to every other one, and a session that lacks nothing keeps its
// bytes.
func TestClaudeRows(t *testing.T) {
	n, seed := sampleSize(t, 400/stride)
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 5))
		s := slices.DeleteFunc(someScenario(r, patch.Anthropic), func(e event) bool { return withoutID(e) || e.server != "" || e.inside })
		o := patch.Options{Dropped: true}
		rows := asRows(r, asAnthropic(s))
		input := []byte(strings.Join(rows, "\n") + "\n")
		if len(rows) < 2 {
			continue
		}
		got, err := patch.Repair(patch.Auto, input, o)
		if err != nil {
			continue // ids that cannot be linked are refused in all formats
		}
		if failure := wrongRows(t, got.History); failure != "" {
			t.Fatalf("STREAMER_SEED=%d %s\ninput %s\n  got %s", seed+uint64(i), failure, input, got.History)
		}
		checkKept(t, s, input, got)
		if len(got.History) > 1 {
			checkFixpoint(t, patch.ClaudeCode, got.History, o)
		}
		if len(got.Report.Ops) == 0 && !bytes.Equal(input, got.History) || t.Failed() {
			t.Fatalf("STREAMER_SEED=%d input %s\n  got %s", seed+uint64(i), input, got.History)
		}
	}
}

// asRows returns the rows of a session: one for each block, and some of other types.
func asRows(r *rand.Rand, messages []object) (rows []string) {
	parent := any(nil)
	add := func(m object) {
		m["uuid"], m["parentUuid"] = fmt.Sprintf("u%d", len(rows)), parent
		parent = m["uuid"]
		rows = append(rows, asJSON(m))
	}
	for i, m := range messages {
		if r.IntN(4) == 0 {
			add(object{"type": "progress", "data": object{"type": "hook_progress"}, "toolUseID": "x"})
		}
		blocks, ok := m["content"].([]object)
		if !ok || len(blocks) == 0 {
			add(object{"type": m["role"], "message": m})
			continue
		}
		for _, b := range blocks {
			message := object{"role": m["role"], "content": []object{b}}
			if m["role"] == "assistant" {
				message["id"] = fmt.Sprintf("msg_%d", i)
			}
			add(object{"type": m["role"], "message": message})
		}
	}
	return rows
}

// wrongRows returns what is wrong with a session, "" if nothing is.
func wrongRows(t *testing.T, history []byte) string {
	type block struct {
		Type, ID  string
		ToolUseID string `json:"tool_use_id"`
	}
	parents, open, sent := map[string]string{}, map[string]int{}, map[string]bool{}
	last, rows := "", 0
	for line := range strings.FieldsFuncSeq(string(history), func(c rune) bool { return c == '\n' }) {
		var row struct {
			Type, UUID, ParentUUID string
			Message                struct{ Content json.RawMessage }
		}
		readJSON(t, []byte(line), &row)
		if _, ok := parents[row.ParentUUID]; !ok && row.ParentUUID != "" {
			return "the parent of " + row.UUID + " is no row before it"
		}
		parents[row.UUID] = row.ParentUUID
		var blocks []block
		if sent[row.UUID] = row.Type == "user" || row.Type == "assistant"; !sent[row.UUID] {
			continue
		}
		if json.Unmarshal(row.Message.Content, &blocks) != nil {
			blocks = nil
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				open[b.ID]++
			case "tool_result":
				open[b.ToolUseID]--
			}
			if open[b.ID+b.ToolUseID] < 0 {
				return "a result without a call: " + b.ToolUseID
			}
		}
		last, rows = row.UUID, rows+1
	}
	for id, n := range open {
		if n != 0 {
			return fmt.Sprintf("the call %s lacks %d results", id, n)
		}
	}
	for at := last; at != ""; at = parents[at] {
		if sent[at] {
			rows--
		}
	}
	if rows > 0 {
		return fmt.Sprintf("%d rows do not precede the last one", rows)
	}
	return ""
}
