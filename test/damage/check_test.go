package damage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// countCalls counts the starts and results of each call. Its keys are session and
// call.
func countCalls(log []event) (started, closed map[string]int) {
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

// openCallsIn lists the calls that have a start and no result.
func openCallsIn(log []event) (list []string) {
	started, closed := countCalls(log)
	for call := range started {
		if closed[call] == 0 {
			list = append(list, "call "+call+" is open")
		}
	}
	return list
}

// disorder lists the faults of an event log: an event id that is not after the
// previous one of its session, a call with several starts or results, and a call
// with a result but without a start in either log.
func disorder(before, log []event) (list []string) {
	last := map[string][2]uint64{}
	for _, e := range log {
		id, err := parseID(e.EventID)
		if before := last[e.session]; err != nil || before[0] > id[0] || before[0] == id[0] && before[1] >= id[1] {
			list = append(list, fmt.Sprintf("event %d of session %s has the id %q after %v", e.seq, e.session, e.EventID, before))
		}
		last[e.session] = id
	}
	known, _ := countCalls(before)
	started, closed := countCalls(log)
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

// parseID parses the wire form of an event id.
func parseID(text string) (id [2]uint64, err error) {
	seq, n, _ := strings.Cut(text, ".")
	if id[0], err = strconv.ParseUint(seq, 10, 64); err == nil {
		id[1], err = strconv.ParseUint(n, 10, 64)
	}
	return id, err
}

// unanswered lists the results published after the damage that have no event.
func unanswered(log []event, all []conversation) (list []string) {
	found := map[string]bool{}
	for _, e := range log {
		var text string
		if _, result := map[string]bool{"tool_call_result": true, "tool_call_late_result": true, "orphan_result": true}[e.Type]; result && !e.synthetic && json.Unmarshal(e.Result, &text) == nil {
			found[e.session+" "+e.ID+" "+text] = true
		}
	}
	for i := range all {
		for _, r := range all[i].answers {
			if !found[all[i].session+" "+r.id+" "+r.text] {
				list = append(list, fmt.Sprintf("the result of call %s of session %s was acknowledged and has no event", r.id, all[i].session))
			}
		}
	}
	return list
}

// missing returns the events of before that are not in log.
func missing(before, log []event) (list []event) {
	found := map[string]bool{}
	for _, e := range log {
		found[e.session+" "+e.line] = true
	}
	for _, e := range before {
		if !found[e.session+" "+e.line] {
			list = append(list, e)
		}
	}
	return list
}
