package wire

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// mcpApproval emits the answer to an mcp_approval_request of the Responses API.
func (w *Writer) mcpApproval(v jsonscan.Value) *Problem {
	b := Body{Writer: w}
	c := chunks.Chunk{Kind: chunks.Result, Status: "success"}
	var approve jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "approval_request_id":
			c.ID = b.Text(m.Key, m.Value)
		case "approve":
			approve = m.Value
		case "reason":
			c.Text = b.Text(m.Key, m.Value)
		}
	}
	switch {
	case b.Problem != nil:
		return b.Problem
	case approve.Kind == jsonscan.False:
		c.Status = "denied"
	case approve.Kind != jsonscan.True:
		return WrongType("approve", approve, "a boolean")
	}
	if c.ID == "" {
		return WrongShape("the result names no call: approval_request_id is missing or empty")
	}
	w.Emit(c)
	return nil
}
