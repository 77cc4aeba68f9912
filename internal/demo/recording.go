package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

//go:embed sessions/*.jsonl
var files embed.FS

// names returns the names of the recorded sessions. The first is the one to watch
// first.
func names() []string {
	return []string{"trip-planner", "code-review", "data-analyst", "support-desk", "night-report"}
}

// recorded is one line of a recorded session.
type recorded struct {
	At   int64           `json:"at"`   // milliseconds since the session's start
	Kind inputs.Kind     `json:"kind"` // delta, result, progress, interrupt or end
	Data json.RawMessage `json:"data"`
}

// recording reads a recorded session.
func recording(name string) ([]recorded, error) {
	data, err := files.ReadFile("sessions/" + name + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("recorded session %s: %w", name, err)
	}
	var list []recorded
	for line := range bytes.Lines(data) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("recorded session %s, line %d: %w", name, len(list)+1, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// fold folds a recorded session offline and returns its events.
func fold(name string, list []recorded) []events.Event {
	var s session.State
	var out []events.Event
	for i, in := range list {
		out = session.Fold(out, &s, session.Input{Input: inputs.Input{
			Seq: uint64(i + 1), At: time.UnixMilli(in.At), Token: name, Kind: in.Kind, Data: in.Data,
		}})
	}
	return out
}
