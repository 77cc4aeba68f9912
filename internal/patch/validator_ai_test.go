package patch_test

import "strings"

// aiModel checks that the results of the client's calls are in the tool messages
// that directly follow them. A call at the end may wait for a person.
func (v *validator) aiModel(messages []object) {
	open, closed, asked, hosted := map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	end := func(at int) {
		for id, n := range open {
			for range n {
				if at < len(messages) || !asked[id] {
					v.breaks(at, "unanswered_call")
				}
			}
		}
		open, closed, asked = map[string]int{}, map[string]bool{}, map[string]bool{}
	}
	for i, m := range messages {
		if m["role"] != "tool" {
			end(i)
		}
		calls := aiModelCalls(m)
		v.calls(i, calls)
		for _, c := range calls {
			open[c.id]++
			delete(hosted, c.id)
		}
		for _, p := range objects(m["content"]) {
			id := str(p["toolCallId"])
			switch {
			case p["type"] == "tool-approval-request":
				asked[id] = true
			case p["type"] == "tool-call" && p["providerExecuted"] == true:
				hosted[id] = true
			case p["type"] != "tool-result" || hosted[id]:
			case m["role"] == "assistant":
				v.breaks(i, "misplaced_result")
			case open[id] > 0:
				open[id]--
				closed[id] = true
			case closed[id]:
				v.breaks(i, "duplicate_result")
			default:
				v.breaks(i, "orphan_result")
			}
		}
	}
	end(len(messages))
}

func aiModelCalls(m object) (calls []seenCall) {
	for _, p := range objects(m["content"]) {
		if p["type"] == "tool-call" && p["providerExecuted"] != true {
			calls = append(calls, seenCall{str(p["toolCallId"]), str(p["toolName"]), nil})
		}
	}
	return calls
}

// aiUI checks the states of the tool parts.
func (v *validator) aiUI(messages []object) {
	last := -1
	for i, m := range messages {
		if m["role"] == "user" {
			last = i
		}
	}
	for i, m := range messages {
		v.calls(i, aiUICalls(m))
		for _, p := range objects(m["parts"]) {
			if name, static := strings.CutPrefix(str(p["type"]), "tool-"); !static && p["type"] != "dynamic-tool" || name == "invocation" {
				continue
			}
			approval, _ := p["approval"].(object)
			switch state := str(p["state"]); state {
			case "output-available":
				if p["output"] == nil || approval != nil && approval["approved"] != true {
					v.breaks(i, "bad_state")
				}
			case "output-error":
				if str(p["errorText"]) == "" || p["input"] == nil && p["rawInput"] == nil || approval != nil && approval["approved"] != true {
					v.breaks(i, "bad_state")
				}
			case "output-denied":
				if approval["approved"] != false {
					v.breaks(i, "bad_state")
				}
			case "approval-requested", "approval-responded":
				if i <= last {
					v.breaks(i, "unanswered_call")
				}
			default:
				if p["providerExecuted"] != true {
					v.breaks(i, "unanswered_call")
				}
			}
		}
	}
}

func aiUICalls(m object) (calls []seenCall) {
	for _, p := range objects(m["parts"]) {
		name, static := strings.CutPrefix(str(p["type"]), "tool-")
		if p["type"] == "dynamic-tool" {
			name, static = str(p["toolName"]), true
		}
		if static && p["providerExecuted"] != true {
			calls = append(calls, seenCall{str(p["toolCallId"]), name, nil})
		}
	}
	return calls
}
