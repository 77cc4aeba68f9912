package responses

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r frame) hasCall(items jsonscan.Value, id string) bool {
	for e := items.Elements(); e.Next(); {
		if r.Text(e.Value.Member("call_id")) == id || r.Text(e.Value.Member("id")) == id {
			return true
		}
	}
	return false
}

// call emits a call. It also emits the result of a call that the provider ran, and
// the request for an approval.
func (r frame) call(of chunks.Chunk, i itemFields, at stage) {
	args, object := r.Text(i.args), i.args.IsObject() || i.args.IsArray()
	if object {
		args = r.Compact(i.args.Raw)
	}
	if at == itemAdded {
		if !object {
			of.Args = args
		}
		r.Emit(of)
		return
	}
	// The first fragment opens the call in this message. A whole call alone could
	// be matched with a call of an earlier response that has the same id.
	r.Emit(of)
	// In the Realtime API the status of a call that is whole says nothing.
	if i.status.Str == "incomplete" && !(r.realtime && wire.Valid(args)) || at == itemCutOff && !object && of.CallKind != "custom" && !wire.Valid(args) {
		return // the deltas have all args there are
	}
	of.Args, of.Object, of.Whole, of.Opens, of.Exact = args, object, true, false, false
	r.Emit(of)
	switch {
	case of.CallKind == "mcp_approval_request":
		r.Emit(chunks.Chunk{Kind: chunks.Await, Message: of.Message, ID: of.ID, Why: "approval", InterruptID: of.ID})
	case of.CallKind == "mcp":
		r.mcpResult(of, i)
	case of.CallKind == "custom" && of.Provider && i.status.Str == "completed":
		// The provider does not send the content of the result.
		r.Emit(chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Status: "success"})
	}
}

func (r frame) mcpResult(of chunks.Chunk, i itemFields) {
	c := chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Name: of.Name, Status: "success"}
	switch {
	case i.failure.Present():
		c.Status = "error"
		if content := i.failure.Member("content"); content.IsArray() {
			c.Content = r.Compact(content.Raw)
		} else {
			c.Text = r.FailureText(i.failure)
		}
	case i.status.Str == "failed":
		c.Status, c.Text = "error", r.Text(i.output)
	case i.output.IsNested():
		c.Content = r.Compact(i.output.Raw)
	case i.output.Present() || i.status.Str == "completed":
		c.Text = r.Text(i.output)
	default:
		return
	}
	r.Emit(c)
}
