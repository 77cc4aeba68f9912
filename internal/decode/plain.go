package decode

import (
	"strings"

	"streamer/internal/decode/wire"
)

// console reports whether plain text may stand between the events of the current
// format.
func (s *State) console() bool {
	_, ok := find(s.Format).(wire.Console)
	return ok
}

// plainText reports whether a text that is no event is plain text: it does not begin
// like an object. A text that does is an event that was damaged.
func plainText(text string) bool {
	inside, object := strings.CutPrefix(text, "{")
	if !object {
		return true
	}
	inside = strings.TrimLeft(inside, " \t\r\n")
	return inside != "" && inside[0] != '"' && inside[0] != '}'
}
