package responses

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The Realtime API has the events of a response, each with its response_id, and besides
// them those of the session:
//
//	session.created → conversation.item.create{item} from the client, .added{item} and .done{item} from the server
//	→ response.created{response:{id}} → response.output_item.added{response_id,item} …
//	→ response.done{response:{status,status_details}}, also if the response was cancelled
//
// https://platform.openai.com/docs/api-reference/realtime

func (r frame) lane(e *event) string {
	switch {
	case e.responseID.Present():
		return r.Text(e.responseID)
	case r.realtime:
		return r.Text(e.response.Member("id"))
	}
	return r.Text(e.stream)
}

// ofSession reports whether an event of the Realtime API, or one that a server sends over
// a WebSocket, is of the session and not of a response.
func ofSession(kind string) bool {
	return kind == "rate_limits.updated" || kind == "codex.rate_limits" ||
		wire.HasAnyPrefix(kind, "session.", "conversation.", "input_audio_buffer.", "output_audio_buffer.", "transcription_session.", "mcp_list_tools.")
}

// claimsSession claims an event of a session. Other protocols have sessions too.
func claimsSession(kind string, identified bool) wire.Claim {
	switch {
	case strings.HasPrefix(kind, "conversation.item."), strings.Contains(kind, "_audio_buffer."), kind == "rate_limits.updated":
		return wire.Surely
	case identified && (kind == "session.created" || kind == "session.updated" || kind == "conversation.created"):
		return wire.Surely
	case identified, kind == "codex.rate_limits", kind == "session.update":
		return wire.Perhaps
	}
	return wire.IfKnown
}

// sessionEvent emits the items of a conversation. The other events of a session have
// nothing of a call.
func (r frame) sessionEvent(e *event) *wire.Problem {
	switch name, _ := strings.CutPrefix(e.kind.Str, "conversation.item."); name {
	case "create", "created", "added", "done", "retrieved":
		if !e.item.IsObject() {
			return wire.WrongType("item of "+e.kind.Str, e.item, "an object")
		}
		return r.conversationItem(name, e.item)
	case "input_audio_transcription.completed":
		if s := r.Text(e.transcript); s != "" {
			r.Emit(chunks.Chunk{Kind: chunks.Human, ID: r.Text(e.itemID), Text: s, Aside: true})
		}
	default:
		r.unknownItem("event", e.kind.Str, e.item)
	}
	return nil
}

// conversationItem emits an item that the client adds to the conversation, or that the
// server repeats. The calls of the model come in the events of its response.
func (r frame) conversationItem(name string, item jsonscan.Value) *wire.Problem {
	i := readItem(item)
	if i.kind.Str == "message" {
		// A content of audio has no text: its transcript comes later.
		if item.Member("role").Str == "user" && r.PlainText(i.content) != "" && !r.echoes(name, r.Text(i.id)) {
			r.human(item, true)
		}
		return nil
	}
	return r.clientItem(item)
}

// echoes reports whether a user message is one that the client sent without an id, and
// the server repeats with one.
func (r frame) echoes(name, id string) bool {
	switch {
	case id == "":
		if name == "create" {
			r.d.Echoes++
		}
		return false
	case name == "done", name == "retrieved":
		return id == r.d.Echo
	case name == "create" || r.d.Echoes == 0:
		return false
	}
	r.d.Echoes--
	r.d.Echo = wire.Keep(id)
	return true
}

// cutOff emits the end of a response of the Realtime API that was cancelled or has
// failed. The client may still answer the calls that were complete.
func (r frame) cutOff(status string, b *response) {
	reason := r.Text(b.statusDetails.Member("reason"))
	if failure := b.statusDetails.Member("error"); reason == "" && failure.Present() {
		reason = r.FailureText(failure)
	}
	r.stop(chunks.Chunk{Status: status, Text: cmp.Or(reason, "the response has the status "+status), Spares: true})
}
