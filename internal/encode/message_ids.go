package encode

import (
	"regexp"

	"streamer/internal/events"
)

// maxMessageIDs is the maximum number of ids of a stream that are those of the input.
const maxMessageIDs = 10_000

// messageIDs are the ids that the messages of a stream have: that of the input where no
// other message of the session has it, otherwise one that is made of the id of the first
// event. They are the same in each stream of a turn.
type messageIDs struct {
	earlier map[string]bool // ids of the messages of earlier turns, which is not changed
	taken   map[string]bool
}

// take returns the id of the message that begins with an event, or other instead of one
// that is made.
func (m *messageIDs) take(e *events.Event, other string) string {
	id := placeOf(e).MessageID
	if id == "" || m.earlier[id] || m.taken[id] || isMade(id) || len(m.taken) >= maxMessageIDs {
		return other
	}
	if m.taken == nil {
		m.taken = map[string]bool{}
	}
	m.taken[id] = true
	return id
}

// isMade reports whether an id has the form of one that is made of an event's.
func isMade(id string) bool { return repeated(id, events.ID{}) }

// reasoningPart is the end of the ids of messages that are parts of another one.
var reasoningPart = regexp.MustCompile(`_r[0-9]+$`)
