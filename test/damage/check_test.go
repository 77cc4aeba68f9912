package damage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// callsOf counts starts and results of each call, by session and call.
func callsOf(log []event) (started, closed map[string]int) {
	started, closed = map[string]int{}, map[string]int{}
	for _, e := range log {
		switch key := e.session + " " + e.Call; {
		case e.synthetic:
		case e.Type == "tool_call_start":
			started[key]++
		case e.Type == "tool_call_result":
			closed[key]++
		}
	}
	return started, closed
}

// unclosed lists the calls that were started and have no result.
func unclosed(log []event) (list []string) {
	started, closed := callsOf(log)
	for call := range started {
		if closed[call] == 0 {
			list = append(list, "call "+call+" is open")
		}
	}
	return list
}

// disorder lists what must never be in an event log: an event id that does not
// follow the one before it in its session, a call that was started or closed
// more than once, or closed and never started. A start may stand in the log of
// before.
func disorder(before, log []event) (list []string) {
	last := map[string][2]uint64{}
	for _, e := range log {
		id, err := parseID(e.EventID)
		if before := last[e.session]; err != nil || before[0] > id[0] || before[0] == id[0] && before[1] >= id[1] {
			list = append(list, fmt.Sprintf("event %d of session %s has the id %q behind %v", e.seq, e.session, e.EventID, before))
		}
		last[e.session] = id
	}
	known, _ := callsOf(before)
	started, closed := callsOf(log)
	for call, n := range started {
		if n > 1 {
			list = append(list, fmt.Sprintf("call %s was started %d times", call, n))
		}
	}
	for call, n := range closed {
		if n > 1 {
			list = append(list, fmt.Sprintf("call %s was closed %d times", call, n))
		}
		if started[call]+known[call] == 0 {
			list = append(list, fmt.Sprintf("call %s was closed and never started", call))
		}
	}
	return list
}

func parseID(text string) (id [2]uint64, err error) {
	seq, n, _ := strings.Cut(text, ".")
	if id[0], err = strconv.ParseUint(seq, 10, 64); err == nil {
		id[1], err = strconv.ParseUint(n, 10, 64)
	}
	return id, err
}

// unanswered lists the results published after the damage of which there is no
// event.
func unanswered(log []event, all []talk) (list []string) {
	there := map[string]bool{}
	for _, e := range log {
		var text string
		if _, result := map[string]bool{"tool_call_result": true, "tool_call_late_result": true, "orphan_result": true}[e.Type]; result && !e.synthetic && json.Unmarshal(e.Result, &text) == nil {
			there[e.session+" "+e.ID+" "+text] = true
		}
	}
	for i := range all {
		for _, r := range all[i].answers {
			if !there[all[i].session+" "+r.id+" "+r.text] {
				list = append(list, fmt.Sprintf("the result of call %s of session %s was answered 202 and is no event", r.id, all[i].session))
			}
		}
	}
	return list
}

// missing returns the events of before that log has not.
func missing(before, log []event) (list []event) {
	there := map[string]bool{}
	for _, e := range log {
		there[e.session+" "+e.line] = true
	}
	for _, e := range before {
		if !there[e.session+" "+e.line] {
			list = append(list, e)
		}
	}
	return list
}
