package broker

import (
	"context"
	"encoding/json"
)

// Mark is a partition's low-water mark.
type Mark struct {
	Seq   uint64          `json:"seq"`             // first input not covered by saved states
	Rules json.RawMessage `json:"rules,omitempty"` // the rules in force there
}

// LoadMark reads the mark of a partition from its stream's leader; zeros if
// there is none.
func (b *Broker) LoadMark(ctx context.Context, p int) (m Mark, rev uint64, err error) {
	return Mark{}, 0, errTODO
}

// SaveMark replaces the mark whose revision is rev (0: there is none):
// ErrConflict where another stands there, ErrBackwards where m is before it.
func (b *Broker) SaveMark(ctx context.Context, p int, m Mark, rev uint64) (newRev uint64, err error) {
	return 0, errTODO
}
