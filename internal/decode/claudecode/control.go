package claudecode

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// control emits the beginning and the end of a wait for an approval:
//
//	control_request{request_id,request:{subtype:"can_use_tool",tool_name,tool_use_id}}
//	→ control_response{response:{request_id,response:{behavior}}} or control_cancel_request{request_id}
//
// Other control lines have no effect.
func (r reader) control(l *line) {
	switch l.kind.Str {
	case "control_request":
		if l.request.Member("subtype").Str == "can_use_tool" {
			r.await(r.Text(l.requestID), l.request)
		}
	case "control_response":
		r.endWait(r.Text(l.response.Member("request_id")), r.Text(l.response.Member("response").Member("behavior")))
	case "control_cancel_request":
		r.endWait(r.Text(l.requestID), "")
	}
}

// await emits that a call waits for an approval. Older versions name only its tool.
func (r reader) await(request string, v jsonscan.Value) {
	id := r.Text(v.Member("tool_use_id"))
	if id == "" {
		id = r.d.newest(r.Text(v.Member("tool_name")))
	}
	if id != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval", InterruptID: request})
	}
}

func (r reader) endWait(request, answer string) {
	if request != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: request, Text: answer})
	}
}
