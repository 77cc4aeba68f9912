package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"streamer/internal/lifecycle"
)

// saved is a State as it is stored, with the version of the fold that wrote it.
type saved struct {
	Version int `json:"v"`
	*State
}

// Marshal gives the state as it is saved.
func (s *State) Marshal() ([]byte, error) {
	b, err := json.Marshal(saved{lifecycle.FoldVersion, s})
	if err != nil {
		return nil, fmt.Errorf("session: save state: %w", err)
	}
	return b, nil
}

// ErrVersion is a state that a newer fold version wrote.
var ErrVersion = errors.New("session: a newer fold version")

// Load gives the state that Marshal saved, ready to go on.
func Load(data []byte) (*State, error) {
	v := saved{State: new(State)}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("session: load state: %w", err)
	}
	if v.Version > lifecycle.FoldVersion {
		return nil, fmt.Errorf("%w: load state: it was saved by fold version %d, this program knows %d", ErrVersion, v.Version, lifecycle.FoldVersion)
	}
	v.Life.Resume()
	return v.State, nil
}

// Alarm gives what the clock has to say next to this session, if anything.
func (s *State) Timer(r *Rules) (lifecycle.Timer, bool) { return s.Life.Timer(r) }
