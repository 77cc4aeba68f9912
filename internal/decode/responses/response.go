package responses

import (
	"cmp"
	"slices"
	"strconv"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// start begins a response. Later events of an open response, queued and in_progress,
// have an effect only where response.created was lost.
func (r frame) start(name string, response jsonscan.Value) *wire.Problem {
	if !response.IsObject() {
		return wire.WrongType("response of response."+name, response, "an object")
	}
	id := r.Text(response.Member("id"))
	if name != "created" && (r.d.Open || r.d.Message == id) {
		return nil
	}
	beside := r.d.beside()
	if beside && r.d.Open { // its end was lost
		r.stop(chunks.Chunk{Text: "another response of the stream began", Spares: true})
	}
	r.d.reset(wire.Keep(id), true)
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: "assistant", Fresh: !beside})
	return nil
}

type response struct {
	id, status, output, usage, failure, details, statusDetails jsonscan.Value
}

func readResponse(response jsonscan.Value) (b response) {
	response.Read(
		b.id.From("id"), b.status.From("status"), b.output.From("output"), b.usage.From("usage"),
		b.failure.From("error"), b.details.From("incomplete_details"),
		b.statusDetails.From("status_details"), b.details.From("incompleteDetails"),
	)
	return b
}

func (b *response) failed(status string) bool {
	return status == "failed" || status == "" && b.failure.Present()
}

// end ends a response. The event repeats all items, which are used where their
// events were lost.
func (r frame) end(name string, response jsonscan.Value) *wire.Problem {
	if !response.IsObject() {
		return wire.WrongType("response of response."+name, response, "an object")
	}
	b := readResponse(response)
	if r.d.Failed && b.failed(name) {
		return nil // the event error came first
	}
	if !r.d.Open {
		r.d.Message = wire.Keep(r.Text(b.id))
		r.d.Open = true
	}
	if r.another(&b) {
		if problem := r.start("created", response); problem != nil {
			return problem
		}
	}
	return r.output(name, b, false)
}

// another reports whether the end is that of another response than the open one, whose end
// was lost: it has another id, and none of the calls. Some servers change the id alone.
func (r frame) another(b *response) bool {
	id := r.Text(b.id)
	if id == "" || r.d.Message == "" || id == r.d.Message || len(r.d.Calls) == 0 {
		return false
	}
	some := b.output.Elements()
	return some.Next() && !slices.ContainsFunc(r.d.Calls, func(c Call) bool { return r.hasCall(b.output, c.ID, "") })
}

func (r frame) whole(response jsonscan.Value) *wire.Problem {
	b := readResponse(response)
	r.d.enter("")
	r.d.reset(wire.Keep(r.Text(b.id)), true)
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: "assistant", Fresh: true})
	return r.output(b.status.Str, b, true)
}

// output emits the items of a response and its end. It emits texts only if texts is
// true, because they were streamed otherwise.
func (r frame) output(status string, b response, texts bool) (first *wire.Problem) {
	switch {
	case r.realtime && (status == "cancelled" || b.failed(status)):
		r.cutOff(status, &b)
		return nil
	case b.failed(status):
		r.failure(b.failure, b.status, jsonscan.Value{})
		return nil
	case status == "cancelled" && r.d.parallel():
		r.stop(chunks.Chunk{Status: status, Text: "the response was cancelled"})
		return nil
	case status == "cancelled":
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: "the response was cancelled"})
		r.d.Open, r.d.Calls = false, nil
		return nil
	}
	stage := itemRepeated
	switch {
	case texts:
		stage = itemWhole
	case status == "incomplete":
		stage = itemCutOff
	}
	i := 0
	for e := b.output.Elements(); e.Next(); i++ {
		index := jsonscan.Value{Kind: jsonscan.Number, Raw: strconv.Itoa(i)}
		first = cmp.Or(first, r.item(index, e.Value, stage, b.output))
	}
	reason := cmp.Or(r.Text(b.statusDetails.Member("reason")), r.Text(b.details.Member("reason")), status)
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: r.d.Message, Reason: reason, Truncated: status == "incomplete"})
	r.EmitUsage(chunks.Chunk{Message: r.d.Message}, b.usage)
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: r.d.Message})
	r.d.Open, r.d.Calls = false, nil
	return first
}

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
