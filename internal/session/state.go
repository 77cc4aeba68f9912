package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"streamer/internal/lifecycle"
)

// stored is a State in its stored form, with the fold version that wrote it.
type stored struct {
	Version int `json:"v"`
	*State
}

// Marshal returns the stored form of the state.
func (s *State) Marshal() ([]byte, error) { return s.Append(nil) }

// Append appends the stored form of the state.
func (s *State) Append(dst []byte) ([]byte, error) {
	dst = strconv.AppendInt(append(dst, `{"v":`...), lifecycle.FoldVersion, 10)
	dst = strconv.AppendUint(append(dst, `,"n":`...), s.N, 10)
	if r := &s.Read; r.Format != "" || r.SSE != nil || r.Cut != nil || r.Decoders != nil {
		read, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("session: write state: %w", err)
		}
		dst = append(append(dst, `,"read":`...), read...)
	}
	dst, err := s.Life.AppendJSON(append(dst, `,"life":`...))
	if err != nil {
		return nil, fmt.Errorf("session: write state: %w", err)
	}
	return append(dst, '}'), nil
}

// ErrVersion is returned for a state that a newer fold version wrote.
var ErrVersion = errors.New("session: a newer fold version")

// Load returns the state whose stored form is data.
func Load(data []byte) (*State, error) {
	v := stored{State: new(State)}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("session: load state: %w", err)
	}
	if v.Version > lifecycle.FoldVersion {
		return nil, fmt.Errorf("%w: load state: it was written by fold version %d, the newest of this program is %d", ErrVersion, v.Version, lifecycle.FoldVersion)
	}
	v.Life.Resume()
	return v.State, nil
}

// Timer returns the earliest clock input that the session needs. It reports false
// where it needs none.
func (s *State) Timer(r *Rules) (Timer, bool) {
	t, ok := s.Life.Timer(r)
	if end := s.Life.Last + cutAfter; s.Read.Pending() && (!ok || end < t.At) {
		return Timer{At: end, Kind: lifecycle.Flush}, true
	}
	return t, ok
}
