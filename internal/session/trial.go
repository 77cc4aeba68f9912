package session

import (
	"time"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// Trial folds the deltas of a new session without storing anything, to find faults
// before the deltas are stored. The zero value is a session without inputs.
type Trial struct {
	state  State
	reader decode.Reader
	seq    uint64
	out    []events.Event
}

// Delta returns the rejected event that a delta would cause, nil if there is none.
// format is the content of the header that names the format, or "". A delta that is
// rejected changes the state of the trial as it would change that of a session.
func (t *Trial) Delta(format string, data []byte) *events.Event {
	rules := lifecycle.DefaultRules()
	t.seq++
	in := inputs.Input{Seq: t.seq, At: time.UnixMilli(int64(t.seq)), Token: "trial", Kind: inputs.Delta, Data: data} //nolint:gosec // a count
	if format != "" {
		in.Header = inputs.Header{inputs.HeaderFormat: {format}}
	}
	t.out = Fold(t.out[:0], &t.state, Input{Input: in, Rules: &rules, Reader: &t.reader})
	for i := range t.out {
		if t.out[i].Type == events.Rejected {
			return &t.out[i]
		}
	}
	return nil
}
