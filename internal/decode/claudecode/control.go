package claudecode

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// control emits the beginning and the end of a wait for an approval:
//
//	control_request{request_id,request:{subtype:"can_use_tool",tool_name,tool_use_id}}
//	→ control_response{response:{request_id,response:{behavior}}} or control_cancel_request{request_id}
//
// Other control lines have no effect.
func (d *Decoder) control(w *wire.Writer, l *line) {
	switch l.kind.Str {
	case "control_request":
		if l.request.Member("subtype").Str == "can_use_tool" {
			d.await(w, w.Text(l.requestID), l.request)
		}
	case "control_response":
		d.endWait(w, w.Text(l.response.Member("request_id")), w.Text(l.response.Member("response").Member("behavior")))
	case "control_cancel_request":
		d.endWait(w, w.Text(l.requestID), "")
	}
}

// await emits that a call waits for an approval. Older versions name only its tool.
func (d *Decoder) await(w *wire.Writer, request string, v jsonscan.Value) {
	id := w.Text(v.Member("tool_use_id"))
	if id == "" {
		id = d.newest(w.Text(v.Member("tool_name")))
	}
	if id != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval", InterruptID: request})
	}
}

func (d *Decoder) endWait(w *wire.Writer, request, answer string) {
	if request != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: request, Text: answer})
	}
}
