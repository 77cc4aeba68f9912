package encode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/events"
)

type openCall struct {
	call, id, name string // its name in events, its id in the stream, the name of the tool
	data           callData
	args           argsForm
}

// newCall returns the call of an event. ids are those of the calls before it.
func newCall(e *events.Event, ids *callIDs) openCall {
	c := openCall{
		call: e.Call, id: callID(e), name: callName(e),
		data: callData{Call: e.Call, ParentCall: ids.of(e.ParentCall)},
		args: argsForm{text: e.Kind == "custom"},
	}
	if e.Timestamp != 0 {
		c.data.StartedAt = &e.Timestamp
	}
	ids.add(e)
	return c
}

func (c *openCall) is(call string) bool { return c.call == call }

func (c *openCall) source() source { return source{call: c.call} }

func findCall[C interface{ is(call string) bool }](list []C, call string) C {
	return find(list, func(c C) bool { return c.is(call) })
}

// find returns the first element that matches, or the zero value.
func find[T any](list []T, match func(T) bool) (t T) {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i]
	}
	return t
}

func argsText(e *events.Event) string {
	if e.ArgsText == nil {
		return ""
	}
	return *e.ArgsText
}

// callData is about a call, for clients that read more than their protocol has.
type callData struct {
	Call             string        `json:"call"` // its name in events
	Run              string        `json:"run,omitempty"`
	StartedAt        *events.Time  `json:"startedAt,omitempty"`
	ParentCall       string        `json:"parentCall,omitempty"` // the id in the stream of the call that caused it
	ProviderExecuted bool          `json:"providerExecuted,omitempty"`
	ArgsIncomplete   bool          `json:"argsIncomplete,omitempty"` // their end was added
	Args             string        `json:"args,omitempty"`           // as the model wrote them, where the stream has others
	Status           events.Status `json:"status,omitempty"`         // the rest is that of the end
	Reason           events.Code   `json:"reason,omitempty"`
	Detail           string        `json:"detail,omitempty"`
	DurationMS       *int64        `json:"durationMs,omitempty"`
	RunMS            *int64        `json:"runMs,omitempty"`
}

func (d callData) ended(status events.Status, reason *events.Reason) callData {
	d.Status = status
	if reason != nil {
		d.Reason, d.Detail = reason.Code, reason.Detail
	}
	return d
}

// callID returns the id of a call that is unique in its session.
func callID(e *events.Event) string {
	return cmp.Or(e.UID, e.Call)
}

func callName(e *events.Event) string {
	return cmp.Or(e.ToolName, "unknown")
}

// maxCallIDs is the maximum number of ids that callIDs remembers.
const maxCallIDs = 10_000

// callIDs maps the ids of the provider to the ids of the last calls that have them in
// the stream, where these are others. The zero value has none.
type callIDs map[string]string

func (m *callIDs) add(e *events.Event) {
	delete(*m, e.ID)
	if id := callID(e); id != e.ID && e.ID != "" {
		if *m == nil || len(*m) >= maxCallIDs {
			*m = callIDs{}
		}
		(*m)[e.ID] = id
	}
}

// of returns the id in the stream of the call that has an id of the provider.
func (m callIDs) of(id string) string {
	if uid, ok := m[id]; ok {
		return uid
	}
	return id
}

// parentData names the call that caused a call, where it is known late.
type parentData struct {
	ToolCallID string `json:"toolCallId"`
	ParentCall string `json:"parentCall"`
}

type progressData struct {
	ToolCallID string   `json:"toolCallId"`
	Message    string   `json:"message,omitempty"`
	Percent    *float64 `json:"percent,omitempty"`
}

// argsIncomplete is the reason of a call whose args were incomplete or invalid when
// its run completed. The event log closes the call later, by a deadline.
const argsIncomplete events.Code = "args_incomplete"

func cutText(c *openCall) string {
	return events.Fill(events.Sentence(events.TextArgs, events.Langs[0]), c.name, c.id)
}

// endWith returns how a call ends that is open when its run ends. A call with whole
// args stays open if the run completed or was interrupted: a client or a person answers
// it.
func (c *openCall) endWith(e *events.Event, whole bool) (text string, data callData, ends bool) {
	switch {
	case e.Status != events.Completed && e.Status != events.Interrupted:
		return reasonText(e.Reason, "The run ended before the call."), c.data.ended(events.Cancelled, e.Reason), true
	case !whole:
		return cutText(c), c.data.ended(events.Cancelled, &events.Reason{Code: argsIncomplete}), true
	}
	return "", callData{}, false
}

func resultText(e *events.Event) string {
	var text string
	switch {
	case json.Unmarshal(e.ToolResult, &text) == nil && text != "":
		return text
	case len(e.ToolResult) > 0 && string(e.ToolResult) != `""`:
		return string(e.ToolResult)
	}
	return reasonText(e.Reason, "The tool failed without a text.")
}

// isAutomatic reports whether a progress is about an approval for which no person is asked.
func isAutomatic(e *events.Event) bool {
	return e.Type == events.ToolCallProgress && e.InterruptID != ""
}

// requestReason returns why a person is asked, or "" if the wire does not state it.
func requestReason(e *events.Event) string {
	var request struct{ Reason string }
	if len(e.Request) == 0 || json.Unmarshal(e.Request, &request) != nil {
		return ""
	}
	return request.Reason
}

// denialReason returns the reason that was given for a denial, or "".
func denialReason(e *events.Event) (text string) {
	if e.Reason != nil {
		return e.Reason.Detail
	}
	if json.Unmarshal(e.ToolResult, &text) != nil || text == noReason {
		return ""
	}
	return text
}

// noReason is the result of a denied call if the wire has no reason.
const noReason = "The tool call was denied."

// answerText returns the text of the answer to a question: what a person replied, or what
// the wire states.
func answerText(e *events.Event) (text string) {
	if e.Type != events.ToolCallAnswered || json.Unmarshal(e.Value, &text) != nil {
		return e.Progress
	}
	return text
}

// isClaim reports whether a progress is the one with which a process of a client package
// claims a call, or ends its claim. It is no news of the tool.
func isClaim(progress string) bool {
	return progress == "running" || progress == "suspended, to be run again"
}

// contentOf returns the text of a result: a string as it is, other JSON as it is
// written.
func contentOf(e *events.Event) string {
	var text string
	switch {
	case e.Status != events.Completed:
		return resultText(e)
	case json.Unmarshal(e.ToolResult, &text) == nil:
		return text
	}
	return string(e.ToolResult)
}

// reasonText returns the text of a reason with the detail that its cause gave, or
// other if there is none.
func reasonText(r *events.Reason, other string) string {
	switch {
	case r == nil || r.Text == "":
		return other
	case r.Detail != "":
		return r.Text + " (" + r.Detail + ")"
	}
	return r.Text
}

// maxInvalid is the maximum number of bytes of invalid args that are shown.
const maxInvalid = 4 << 10

// beginning returns the first bytes of a text, at most maxInvalid, without a cut
// character at the end.
func beginning(text string) string {
	if len(text) <= maxInvalid {
		return text
	}
	return strings.ToValidUTF8(text[:maxInvalid], "") + "…"
}

// argsForm is the form in which a stream has the args of a call. Clients read them as
// JSON, so free text is a JSON string.
type argsForm struct {
	text  bool // they are free text
	plain bool // they are an object or free text, so that deltas are sent as they come
	sent  int  // bytes of the model's text that were sent
}

// begin applies the first fragment of the args. Other JSON than an object can become
// another input: null is {}, and a string can hold an object. It is sent when it is
// complete.
func (a *argsForm) begin(e *events.Event) {
	a.plain = a.text || strings.HasPrefix(e.Args, "{")
}

// next returns the form of the next bytes of the args.
func (a *argsForm) next(text string) string {
	first := a.sent == 0
	a.sent += len(text)
	if !a.text || text == "" {
		return text
	}
	quoted := events.Quote(text)
	if quoted = quoted[:len(quoted)-1]; first {
		return string(quoted)
	}
	return string(quoted[1:])
}
