package damage

import (
	"fmt"
	"slices"
	"strings"
)

// callEnds is what the event log has of one call of a provider.
type callEnds struct {
	starts, results int
	status          string // of the last result
}

// miscounted lists the calls with other starts and results than expected: never two,
// and one of each if the inputs that open the call are stored. If intact is set, no
// input was lost and every call is closed by its own result.
func miscounted(log []event, all []conversation, inputs []message, intact bool) (list []string) {
	stored := map[string]bool{}
	for i := range inputs {
		stored[inputs[i].header.Get("Nats-Msg-Id")] = true
	}
	ends := endsOf(log)
	total, wrong := 0, map[string][]string{}
	for i := range all {
		for _, id := range all[i].opened() {
			call := all[i].session + " " + id
			got, whole := ends[call], all[i].whole(id, stored)
			total++
			if fault := got.fault(whole, intact); fault != "" {
				wrong[fault] = append(wrong[fault], call)
			}
		}
	}
	for fault, calls := range wrong {
		slices.Sort(calls)
		list = append(list, fmt.Sprintf("%d of %d calls: %s: %s", len(calls), total, fault, strings.Join(calls, ", ")))
	}
	slices.Sort(list)
	return list
}

// fault returns what is wrong with the ends of a call, "" if nothing is.
func (c callEnds) fault(whole, intact bool) string {
	switch {
	case c.starts > 1 || c.results > 1, whole && (c.starts != 1 || c.results != 1):
		return fmt.Sprintf("%d starts, %d results", c.starts, c.results)
	case c.starts > c.results:
		return "never closed"
	case intact && !whole:
		return "an input is missing"
	case intact && c.status != "completed":
		return "closed as " + c.status
	}
	return ""
}

// endsOf returns the starts and results of each call by session and id of the call.
func endsOf(log []event) map[string]callEnds {
	ends := map[string]callEnds{}
	for _, e := range log {
		if e.synthetic {
			continue
		}
		key := e.session + " " + e.ID
		c := ends[key]
		switch e.Type {
		case "tool_call_start":
			c.starts++
		case "tool_call_result":
			c.results++
			c.status = e.Status
		}
		ends[key] = c
	}
	return ends
}

// opened returns the ids of the calls that the session begins.
func (t *conversation) opened() (ids []string) {
	for _, in := range slices.Concat(t.early, t.late, t.behind, t.rest) {
		if id, ok := strings.CutPrefix(in.key, "start-"); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// whole reports whether all inputs that open a call are stored.
func (t *conversation) whole(id string, stored map[string]bool) bool {
	for _, key := range []string{"start-", "args-", "end-"} {
		if !stored[t.session+":delta:"+key+id] {
			return false
		}
	}
	return true
}
