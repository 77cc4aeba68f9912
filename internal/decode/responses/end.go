package responses

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// errorEvent emits the failure of the response of the lane. The refusal of a request ends
// no response that is open, and neither does an error of the Realtime API. A WebSocket
// that has reached its limit ends all of them.
func (r frame) errorEvent(e *event) {
	if r.realtime {
		return
	}
	r.d.enter(r.Text(e.stream))
	parallel := r.d.beside()
	switch {
	case e.failure.Member("code").Str == "websocket_connection_limit_reached":
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Text: r.FailureText(e.failure), Spares: true})
		*r.d = decoder{Lane: Lane{Message: r.d.Message, Failed: true}}
	case !r.d.Open && parallel, (r.d.Open || parallel) && refusesRequest(e):
	default:
		r.failure(e.failure, e.message, e.code)
	}
}

// refusesRequest reports whether an error event of a WebSocket answers a request.
func refusesRequest(e *event) bool {
	return !e.numbered.Present() && (wire.TypeOf(e.failure) == "invalid_request_error" || e.failure.Member("code").Str == "previous_response_not_found")
}

// stop emits the end of a response before it was complete. c has the details.
func (r frame) stop(c chunks.Chunk) {
	if c.Status == "failed" {
		c.Status = "error"
	}
	c.Kind, c.Message = chunks.Failure, r.d.Message
	if r.d.Open && c.Message != "" { // without an id it would mean all messages
		r.Emit(c)
	}
	r.d.reset(r.d.Message, false)
	r.d.Failed = c.Status == "error"
}

func (r frame) failure(failure, message, code jsonscan.Value) {
	text := cmp.Or(r.Text(message), r.Text(code))
	if failure.Present() {
		text = r.FailureText(failure)
	}
	if r.d.parallel() {
		r.stop(chunks.Chunk{Status: "error", Text: text})
		return
	}
	r.FailRun(r.d.openMessage(), text)
	r.d.reset(r.d.Message, false)
	r.d.Failed = true
}
