package patch

import "encoding/json"

// Report says what a repair did. Its JSON is part of the wire's answer.
type Report struct {
	Format  Shape  `json:"format"`
	Profile string `json:"profile,omitempty"`
	// Patched: the output differs from the input.
	Patched bool `json:"patched"`
	// Sendable: a provider of that format takes the output; not so where
	// calls were left open on request, or a profile's system would have left
	// something.
	Sendable bool `json:"sendable"`
	In       int  `json:"in"`  // messages in
	Out      int  `json:"out"` // messages out
	Ops      []Op `json:"ops"`
	// IDs gives the new id of each call id that was changed, the last one
	// where an id stood for several calls.
	IDs map[string]string `json:"ids,omitempty"`
	// FirstChange is the index in the output of the first message that is not
	// as it was, -1 for none.
	FirstChange int `json:"first_change"`
	// SignedAfterChange counts the messages with signed reasoning behind the
	// first change: a provider that binds reasoning to what stands before it
	// may refuse them.
	SignedAfterChange int         `json:"signed_after_change"`
	ViolationsLeft    []Violation `json:"violations_left"`
}

// Op is one thing a repair did.
type Op struct {
	// Op is result_added, result_moved, result_dropped, result_replaced,
	// result_retyped, result_rebound, late_note, orphan_dropped, orphan_to_text,
	// orphan_adopted, call_dropped, reasoning_dropped, server_result_added,
	// id_changed, name_changed, args_changed, invalid_converted, roles_merged
	// or reordered.
	Op string `json:"op"`
	// Turn counts the assistant turns from 0; -1 for what belongs to none.
	Turn int `json:"turn"`
	// Message is the index in the input of the message it is about: that of
	// the call for a result that was added or replaced, that of the result for
	// one that was moved or dropped; -1 for a message that is new, where that
	// was merged.
	Message int `json:"message"`
	// Call is the index of the call in its message, -1 for none.
	Call   int    `json:"call"`
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"` // of a synthetic result; or "log" for one that the session's log held
	Why    string `json:"why,omitempty"`    // of what was dropped: duplicate, superseded, late, duplicate_call, unanswerable, unknown_server_tool
	// From and To are the id, the name or the type of what was changed; of a
	// result that was moved, the indices in the input of the message it stood
	// in and of the one with its call, behind which it stands now.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Hash string `json:"hash,omitempty"` // of what was dropped: the first 16 hex digits of its SHA-256
	// Dropped is what was dropped, with Options.Dropped.
	Dropped json.RawMessage `json:"dropped,omitempty"`
}

// Violation is a rule that the output breaks since it was asked for.
type Violation struct {
	Message int `json:"message"` // index in the input
	// Rule is unanswered_call or orphan_result; of what a profile made it may be
	// misplaced_result, duplicate_result, duplicate_call_id, empty_call_id,
	// empty_name or server_tool_unanswered too.
	Rule string `json:"rule"`
	ID   string `json:"id,omitempty"`
}
