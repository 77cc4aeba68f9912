package session

import (
	"bytes"
	"encoding/json"
	"fmt"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// RulesLog has the rules of a partition from a position of the log on, by the
// inputs that put them into force. Begin comes first.
type RulesLog struct {
	changes []RulesChange // oldest first; the last is in force
}

// RulesChange is a rules input. Its rules are in force for the inputs after it.
type RulesChange struct {
	Seq   uint64
	At    events.Time
	Rules *Rules
	Raw   json.RawMessage // as they are stored; nil for those before the first rules input
}

// Begin sets the rules to those in force at the position, as they are stored. None
// are those before the first rules input. An error is one of ParseRules, and leaves
// the log unchanged.
func (l *RulesLog) Begin(raw json.RawMessage) error {
	if len(raw) == 0 {
		d := DefaultRules()
		l.changes = []RulesChange{{Rules: &d}}
		return nil
	}
	rules, err := ParseRules(raw)
	if err != nil {
		return err
	}
	l.changes = []RulesChange{{Rules: rules, Raw: raw}}
	return nil
}

// Set adds a rules input. If it returns an error, the log is unchanged. Every
// worker refuses the same inputs.
func (l *RulesLog) Set(in *inputs.Input) error {
	rules, err := ParseRules(in.Data)
	if err != nil {
		return err
	}
	l.changes = append(l.changes, RulesChange{in.Seq, events.At(in.At), rules, bytes.Clone(in.Data)})
	return nil
}

// ParseRules returns the rules in data. It returns an error that wraps ErrVersion
// for those of a newer fold. It refuses unknown fields: only streamer writes rules.
func ParseRules(data []byte) (*Rules, error) {
	rules := DefaultRules()
	if err := json.Unmarshal(data, &rules); err != nil {
		return nil, fmt.Errorf("session: rules: %w", err)
	}
	if rules.Version > FoldVersion {
		return nil, fmt.Errorf("%w is in force: version %d, this program knows %d", ErrVersion, rules.Version, FoldVersion)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(new(Rules)); err != nil {
		return nil, fmt.Errorf("session: rules: %w", err)
	}
	if err := rules.Check(); err != nil {
		return nil, err
	}
	return &rules, nil
}

// Last returns the last change.
func (l *RulesLog) Last() *RulesChange { return &l.changes[len(l.changes)-1] }

// InForce returns the rules after the last change.
func (l *RulesLog) InForce() *Rules { return l.Last().Rules }

// Before returns the last change below seq, or the oldest one: its rules are in
// force for the input seq.
func (l *RulesLog) Before(seq uint64) *RulesChange {
	for i := len(l.changes) - 1; i > 0; i-- {
		if l.changes[i].Seq < seq {
			return &l.changes[i]
		}
	}
	return &l.changes[0]
}

// Repeated takes the rules before the first rules input to be those of that input.
func (l *RulesLog) Repeated() {
	if len(l.changes) > 1 {
		l.changes[0].Rules = l.changes[1].Rules
	}
}

// Forget removes the rules that are not in force for any input from seq on.
func (l *RulesLog) Forget(seq uint64) {
	for len(l.changes) > 1 && l.changes[1].Seq < seq {
		l.changes = l.changes[1:]
	}
}
