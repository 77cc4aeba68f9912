package events_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"streamer/internal/events"
)

// The event log of a session is under the session's token.
func ExampleToken() {
	token, err := events.Token("support/42 é")
	if err != nil {
		fmt.Println(err)
		return
	}
	e := events.Event{Type: events.ToolCallStart}
	fmt.Println(token)
	fmt.Println(e.Subject(token))
	// Output:
	// support=2F42=20=C3=A9
	// toolcalls.support=2F42=20=C3=A9.event.tool_call_start
}

// A call is closed because its result did not come in time.
func ExampleEvent_Body() {
	text := events.Fill(events.Sentence(events.TextTimeout, "en"), "search", "call_a")
	e := events.Event{
		Type: events.ToolCallResult, EventID: events.ID{Seq: 4711}, Session: "s",
		Call: "4650.0", ID: "call_a", ToolName: "search", Timestamp: 1_772_445_600_123,
		Status: events.TimedOut, Synthetic: true,
		Reason:     &events.Reason{Code: events.ByResultTimeout, Text: text},
		ToolResult: events.Quote(text),
	}
	body, err := e.Body()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(string(body), `,"`, ",\n\""))

	var read events.Event
	if err := json.Unmarshal(body, &read); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.EventID.After(events.ID{Seq: 4650, N: 7}), read.Status.Terminal())
	// Output:
	// {"type":"tool_call_result",
	// "event_id":"4711.0",
	// "session":"s",
	// "call":"4650.0",
	// "id":"call_a",
	// "tool_name":"search",
	// "timestamp":"2026-03-02T10:00:00.123Z",
	// "status":"timeout",
	// "synthetic":true,
	// "reason":{"code":"result_timeout",
	// "text":"Tool call search with id call_a timed out: no result was received. It may or may not have run."},
	// "tool_result":"Tool call search with id call_a timed out: no result was received. It may or may not have run."}
	// true true
}
