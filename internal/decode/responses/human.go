package responses

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// claimsInput claims a user message of the input of a response:
//
//	{"type":"message"?,"role":"user","id"?,"content":"…" or [{"type":"input_text","text"}]}
//
// Content that is a string can be of other formats too.
func claimsInput(f wire.Frame) wire.Claim {
	var kind, role, content jsonscan.Value
	f.Read(kind.From("type"), role.From("role"), content.From("content"))
	if role.Str != "user" {
		return wire.No
	}
	if e := content.Elements(); e.Next() {
		switch wire.TypeOf(e.Value) {
		case "input_text", "input_image", "input_file":
			return wire.Surely
		}
	}
	if content.IsString() && (kind.Str == "message" || kind.Raw == "") {
		return wire.IfKnown
	}
	return wire.No
}

// human emits a user message of the input. aside states that it interrupts nothing.
func (r frame) human(v jsonscan.Value, aside bool) {
	r.Emit(chunks.Chunk{Kind: chunks.Human, Aside: aside, ID: r.Text(v.Member("id")), Text: r.PlainText(v.Member("content"))})
}
