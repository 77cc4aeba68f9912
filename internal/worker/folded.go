package worker

import (
	"fmt"
	"strconv"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// Folded is how far a session is folded, as of its snapshot.
type Folded struct {
	Input uint64    // sequence of the last input
	Last  events.ID // of the last event those inputs gave, stored yet or not
}

// FoldedIn returns how far a session was folded when its snapshot was written.
func FoldedIn(snapshot broker.Snapshot) (Folded, error) {
	n, err := strconv.ParseUint(snapshot.Header[headerInput], 10, 64)
	if err != nil {
		return Folded{}, fmt.Errorf("worker: snapshot: header %s: %w", headerInput, err)
	}
	r, err := decodeSnapshot(snapshot.Data)
	if err != nil {
		return Folded{}, fmt.Errorf("worker: %w", err)
	}
	f := Folded{Input: n, Last: r.Head.ID}
	for i := range r.Events {
		if id := r.Events[i].ID; id.After(f.Last) {
			f.Last = id
		}
	}
	return f, nil
}
