package eventlog

import (
	"context"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// Expected is an event that was stored, unless the server lost it.
type Expected struct {
	Token string
	Type  events.Type
	ID    events.ID
}

// Confirm reports of each event whether the event log has it, or a later one of the
// same type. The sessions must differ. Where it reports false nothing is known, and
// Head shows where the session's log ends. Many at once cost a third of Head.
func (l *Log) Confirm(ctx context.Context, expected []Expected) []bool {
	confirmed := make([]bool, len(expected))
	index := make(map[string]int, len(expected)) // of each subject
	subjects := make([]string, len(expected))
	for i, e := range expected {
		subjects[i] = (&events.Event{Type: e.Type}).Subject(e.Token)
		index[subjects[i]] = i
	}
	l.b.LastMessages(ctx, broker.StreamEvents, subjects, func(m broker.Message) {
		i := index[m.Subject]
		e := entryOf(&m)
		confirmed[i] = e.Forged == "" && !expected[i].ID.After(e.ID)
	})
	return confirmed
}
