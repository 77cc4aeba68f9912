package patch

import "encoding/json"

// Report describes what a repair did. Its JSON is part of the API.
type Report struct {
	Format  Shape  `json:"format"`
	Profile string `json:"profile,omitempty"`
	// Patched is true if the output differs from the input.
	Patched bool `json:"patched"`
	// Sendable is true if a provider of that format accepts the output. It is
	// false if ViolationsLeft is not empty.
	Sendable bool `json:"sendable"`
	In       int  `json:"in"`  // messages in
	Out      int  `json:"out"` // messages out
	Ops      []Op `json:"ops"`
	// IDs maps each changed call id to its new id: to the last one if several
	// calls had that id.
	IDs map[string]string `json:"ids,omitempty"`
	// FirstChange is the index in the output of the first message that differs
	// from the input's message of that index, -1 for none.
	FirstChange int `json:"first_change"`
	// SignedAfterChange is the number of messages with signed reasoning after
	// the first change. A provider that binds reasoning to the preceding
	// messages may refuse them.
	SignedAfterChange int         `json:"signed_after_change"`
	ViolationsLeft    []Violation `json:"violations_left"`
}

// Op is one change that a repair made.
type Op struct {
	// Op is result_added, result_moved, result_dropped, result_replaced,
	// result_retyped, result_rebound, late_note, orphan_dropped, orphan_to_text,
	// orphan_adopted, call_dropped, item_dropped, reasoning_dropped, server_result_added,
	// id_changed, name_changed, args_changed, invalid_converted, roles_merged
	// or reordered.
	Op string `json:"op"`
	// Turn is the index of the assistant turn, from 0; -1 for none.
	Turn int `json:"turn"`
	// Message is an index in the input: of the call's message for a result that
	// was added or replaced, of the result's message for one that was moved or
	// dropped. It is -1 for a new message that was merged.
	Message int `json:"message"`
	// Call is the index of the call in its message, -1 for none.
	Call   int    `json:"call"`
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"` // why a result is synthetic; "given" or "log" for a real result from the caller or the log
	Why    string `json:"why,omitempty"`    // why something was dropped: duplicate, superseded, late, duplicate_call, duplicate_item, unanswerable, unknown_server_tool
	// From and To are the old and the new id, name or type. For a result that
	// was moved, they are the indices in the input of its message and of its
	// call's message.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	Hash string `json:"hash,omitempty"` // the first 16 hex digits of the SHA-256 of dropped content
	// Dropped is the dropped content, if Options.Dropped is set.
	Dropped json.RawMessage `json:"dropped,omitempty"`
}

// Violation is a rule that the output breaks, because the caller or a profile asked
// for it, or because a repair would have to invent something.
type Violation struct {
	Message int `json:"message"` // index in the input, -1 for a new message
	// Rule is unanswered_call, orphan_result, empty_error, call_first, assistant_first,
	// reasoning_alone, duplicate_item or output_kind. Under a profile it may also be
	// misplaced_result, duplicate_result, duplicate_call_id, empty_call_id, empty_name or
	// server_tool_unanswered.
	Rule string `json:"rule"`
	ID   string `json:"id,omitempty"`
}
