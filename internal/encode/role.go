package encode

import "streamer/internal/events"

// isPrompt reports whether messages of a role are written for the model. The client
// has them.
func isPrompt(role string) bool {
	switch role {
	case "user", "human", "system", "developer", "tool":
		return true
	}
	return false
}

// contentKind returns the kind of a content part: text or reasoning.
func contentKind(e *events.Event) string {
	if e.Kind == "reasoning" {
		return "reasoning"
	}
	return "text"
}

func placeOf(e *events.Event) (p events.Place) {
	if e.Place != nil {
		p = *e.Place
	}
	return p
}
