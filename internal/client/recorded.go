package client

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"time"

	"streamer/internal/inputs"
)

// Recorded is an input of a recorded session, which is a line of JSON:
//
//	{"at":1226,"kind":"delta","data":{…}}
type Recorded struct {
	At   time.Duration // since the beginning of the recording; 0 if unknown
	Kind inputs.Kind   // delta, result, progress, interrupt or end
	Data []byte        // the body of the input
}

// ParseRecorded returns the input that a line of a recording states. It returns
// false if the line is anything else, such as an event of a provider.
func ParseRecorded(line []byte) (Recorded, bool) {
	// Most lines are deltas of a provider, which need not be parsed.
	if !bytes.Contains(line, []byte(`"kind"`)) || !bytes.Contains(line, []byte(`"data"`)) {
		return Recorded{}, false
	}
	var fields struct {
		At   int64           `json:"at"` // milliseconds
		Kind inputs.Kind     `json:"kind"`
		Data json.RawMessage `json:"data"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if dec.Decode(&fields) != nil || len(fields.Data) == 0 {
		return Recorded{}, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return Recorded{}, false
	}
	switch fields.Kind {
	case inputs.Delta, inputs.Result, inputs.Progress, inputs.Interrupt, inputs.End:
		at := min(max(fields.At, 0), math.MaxInt64/int64(time.Millisecond))
		return Recorded{time.Duration(at) * time.Millisecond, fields.Kind, fields.Data}, true
	}
	return Recorded{}, false
}
