package session

import (
	"errors"
	"fmt"

	"streamer/internal/decode"
	"streamer/internal/lifecycle"
	"streamer/internal/stored"
)

// versioned is a State with the fold version that wrote it.
type versioned struct {
	Version int
	*State
}

func (v *versioned) fields(f *stored.Fields) {
	stored.Number(f, "v", &v.Version)
	stored.Number(f, "n", &v.N)
	stored.Object(f, "read", &v.Read, (*decode.State).Fields)
	stored.Object(f, "life", &v.Life, (*lifecycle.State).Fields)
	stored.Pointer(f, "agents", &v.Agents, (*agents).fields)
}

// Marshal returns the stored form of the state.
func (s *State) Marshal() ([]byte, error) { return s.Append(nil) }

// Append appends the stored form of the state.
func (s *State) Append(dst []byte) ([]byte, error) {
	return stored.Append(dst, &versioned{lifecycle.FoldVersion, s}, (*versioned).fields), nil
}

// ErrVersion is returned for a state that a newer fold version or program wrote, and for
// rules of one.
var ErrVersion = errors.New("session: a newer fold version")

// Load returns the state whose stored form is data.
func Load(data []byte) (*State, error) {
	v := versioned{State: new(State)}
	if err := stored.Load(data, &v, (*versioned).fields); errors.Is(err, stored.ErrVersion) {
		return nil, fmt.Errorf("%w: load state: %w", ErrVersion, err)
	} else if err != nil {
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
	if end := s.Life.Last + cutAfter; s.pending() && (!ok || end < t.At) {
		return Timer{At: end, Kind: lifecycle.Flush}, true
	}
	return t, ok
}
