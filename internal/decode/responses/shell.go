package responses

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The commands of a shell call come one after another, before the action of the item has
// all of them, and the other args:
//
//	response.shell_call_command.added{output_index,command_index,command:""}
//	→ .delta{delta} … → .done{command}

// command emits a piece of the text {"commands":["…","… . The end of the item replaces it by
// the action, so its own end is not emitted.
func (r frame) command(name string, e *event) *wire.Problem {
	place := r.place(e.index, e.itemID)
	i := slices.IndexFunc(r.d.Calls, func(c Call) bool { return c.Index == place && !c.Done })
	if i < 0 {
		return nil // its beginning was lost: the end of the item has all args
	}
	text := e.command
	if name == "delta" {
		text = e.delta
	}
	if !text.IsString() {
		return wire.WrongType("text of response.shell_call_command."+name, text, "a string")
	}
	c := &r.d.Calls[i]
	r.EmitCall(chunks.Chunk{
		Kind: chunks.Fragment, Message: r.d.contentOf(), Index: place,
		Args: r.Build(func(dst []byte) []byte { return c.appendCommand(dst, name, e.at.Int(), text) }),
	})
	return nil
}

// appendCommand appends the piece of the args that an event adds. The texts keep their
// escapes.
func (c *Call) appendCommand(dst []byte, name string, at int, text jsonscan.Value) []byte {
	written := len(dst)
	if at >= c.Commands {
		if c.Commands == 0 {
			dst = append(dst, `{"commands":["`...)
		} else {
			dst = append(dst, `,"`...)
		}
		c.Commands, c.Texts = at+1, false
		written = len(dst)
	}
	if name != "done" || !c.Texts {
		dst = append(dst, text.Raw[1:len(text.Raw)-1]...)
	}
	c.Texts = c.Texts || len(dst) > written
	if name == "done" {
		dst = append(dst, '"')
	}
	return dst
}
