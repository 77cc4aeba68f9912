// Package profile reproduces the repairs of other systems, with their rules and their
// texts. The output may break rules of a provider.
//
// A profile takes the calls and the results of a history and returns the results that the
// system adds and those that it removes. Package patch reads and writes the messages. The
// same history always has the same repair.
package profile

import (
	"strings"

	"streamer/internal/events"
)

// Profile is the repair of one system.
type Profile struct {
	Name   string
	Shapes []string
	Langs  []string // languages of its texts
	Repair func(h *History) Changes
}

// History is what a system reads of a history.
type History struct {
	Shape, Lang string
	Turns       []int // the message of each turn
	Calls       []Call
	Results     []Result
}

// Call is a call of a turn.
type Call struct {
	Turn     int
	Message  string // raw
	At       int    // the index of the message
	ID, Name string
	RawID    string // "" if absent
	Valid    bool   // LangChain: it is in tool_calls
	Invalid  bool   // LangChain: it is in invalid_tool_calls
}

// Result is a tool result.
type Result struct {
	ID    string
	RawID string // "" if absent
	At    int    // the index of its message
	Turn  int    // the last turn before it, -1 for none
}

// Changes are the changes that a system makes.
type Changes struct {
	Answers []Answer
	Dropped []int // indices of results
}

// Answer is the new result of a call.
type Answer struct {
	Call   int // its index
	Reason events.Text
	Text   string
	Fields string // the members of its message as JSON
}

// All returns all profiles. Each system is one file.
func All() []Profile {
	return []Profile{deepagents(), deepagentsJS(), eino(), eino08(), sagents()}
}

// The texts of the systems.
const (
	// wasCancelled is the text that most systems use.
	wasCancelled       = "Tool call {name} with id {id} was cancelled - another message came in before it could be completed."
	couldNotBeExecuted = "Tool call {name} with id {id} could not be executed - arguments were malformed or truncated." // deepagents
	einoCanceled       = "Tool call {name} with id {id} was canceled - another message came in before it could be completed."
	einoCancelledZH    = "工具调用 {name}（ID 为 {id}）已被取消——在其完成之前收到了另一条消息。"
)

// Texts returns all texts that profiles write, and the systems that write them.
func Texts() [][2]string {
	return [][2]string{
		{wasCancelled, "deepagents, eino 0.8, sagents"}, {einoCanceled, "eino 0.9"}, {einoCancelledZH, "eino"}, {couldNotBeExecuted, "deepagents"},
	}
}

// fill replaces {name} and {id} in a text, even if the values are empty.
func fill(template, name, id string) string {
	return strings.NewReplacer("{name}", name, "{id}", id).Replace(template)
}

// later returns for each id the index of the last message with a result.
func (h *History) later() map[string]int {
	last := make(map[string]int, len(h.Results))
	for _, r := range h.Results {
		last[r.ID] = r.At
	}
	return last
}

func quote(s string) string { return string(events.Quote(s)) }

// stringID returns the id as a JSON string.
func (c *Call) stringID() string {
	if strings.HasPrefix(c.RawID, `"`) {
		return c.RawID
	}
	return quote(c.ID)
}

// langchain adds a tool message without a status. id is raw JSON, "" for none.
func (ch *Changes) langchain(call int, reason events.Text, text, name, id string) {
	fields := `"type":"tool","content":` + quote(text) + `,"name":` + quote(name)
	if id != "" {
		fields += `,"tool_call_id":` + id
	}
	ch.Answers = append(ch.Answers, Answer{call, reason, text, fields})
}
