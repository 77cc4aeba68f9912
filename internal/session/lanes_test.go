package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// laneStream returns the events of a response with two calls and a text, of a lane.
func laneStream(stream string, n int) []string {
	name := ""
	if stream != "" {
		name = fmt.Sprintf(`"stream_id":%q,`, stream)
	}
	list := []string{fmt.Sprintf(`{"type":"response.created",%s"response":{"id":"r%d","status":"in_progress","output":[]}}`, name, n)}
	for i := range 2 {
		list = append(list,
			fmt.Sprintf(`{"type":"response.output_item.added",%s"output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":"c%d_%d","name":"f","arguments":""}}`, name, i, i, n, i),
			fmt.Sprintf(`{"type":"response.function_call_arguments.delta",%s"output_index":%d,"item_id":"fc_%d","delta":"{\"n\":"}`, name, i, i),
			fmt.Sprintf(`{"type":"response.function_call_arguments.delta",%s"output_index":%d,"item_id":"fc_%d","delta":"%d}"}`, name, i, i, 10*n+i),
			fmt.Sprintf(`{"type":"response.output_item.done",%s"output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":"c%d_%d","name":"f","arguments":"{\"n\":%d}","status":"completed"}}`, name, i, i, n, i, 10*n+i))
	}
	return append(list,
		fmt.Sprintf(`{"type":"response.output_text.delta",%s"output_index":2,"item_id":"m","content_index":0,"delta":"text %d"}`, name, n),
		fmt.Sprintf(`{"type":"response.completed",%s"response":{"id":"r%d","status":"completed","output":[]}}`, name, n))
}

// TestLanes interleaves responses of several lanes, with two responses in each, and
// answers each call somewhere after its end, in the input of any lane. Every call has
// its own args, message and result, and no event is rejected.
func TestLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 200 {
		var queues [][]string
		for n, stream := range []string{"", "a", "b", "c"}[:2+round%3] {
			queues = append(queues, append(laneStream(stream, 2*n), laneStream(stream, 2*n+1)...))
		}
		var log []string
		a := Assembly{}
		for len(queues) > 0 {
			i := random.IntN(len(queues))
			event := queues[i][0]
			log = append(log, event)
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				queues = slices.Delete(queues, i, i+1)
			}
			if _, item, ok := strings.Cut(event, `done",`); ok {
				_, id, _ := strings.Cut(item, `"call_id":"`)
				id, _, _ = strings.Cut(id, `"`)
				stream := []string{"", `"stream_id":"a",`, `"stream_id":"new",`}[random.IntN(3)]
				log = append(log, fmt.Sprintf(`{"type":"response.create",%s"input":[{"type":"function_call_output","call_id":%q,"output":"to %s"}]}`, stream, id, id))
			}
		}
		for _, event := range log {
			a.Line([]byte(event))
		}
		a.End()
		checkLanes(t, &a, log)
	}
}

func checkLanes(t *testing.T, a *Assembly, log []string) {
	t.Helper()
	answers, texts := map[string]string{}, map[string]string{}
	for i := range a.Events {
		switch e := &a.Events[i]; e.Type {
		case events.Rejected, events.OrphanResult:
			t.Fatalf("%s %v in\n%s", e.Type, e.Reason, strings.Join(log, "\n"))
		case events.ToolCallResult:
			answers[e.ID] = string(e.ToolResult)
		case events.AgentResponseChunk:
			texts[e.MessageID] += e.Content
		}
	}
	calls := a.Calls()
	want := 0
	for _, event := range log {
		if strings.Contains(event, "output_item.added") {
			want++
		}
	}
	if len(calls) != want {
		t.Fatalf("%d calls, want %d, in\n%s", len(calls), want, strings.Join(log, "\n"))
	}
	for _, c := range calls {
		var n, i int
		if _, err := fmt.Sscanf(c.ID, "c%d_%d", &n, &i); err != nil {
			t.Fatal(err)
		}
		if c.ArgsText != fmt.Sprintf(`{"n":%d}`, 10*n+i) || c.MessageID != fmt.Sprintf("r%d", n) || answers[c.ID] != fmt.Sprintf("%q", "to "+c.ID) || texts[c.MessageID] != fmt.Sprintf("text %d", n) {
			t.Fatalf("call %s: %+v, answer %s, text %q, in\n%s", c.ID, c, answers[c.ID], texts[c.MessageID], strings.Join(log, "\n"))
		}
	}
}
