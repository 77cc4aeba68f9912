package session

import (
	"streamer/internal/decode"
	"streamer/internal/lifecycle"
)

// The types and values of the fold that its callers use.
type (
	// Timer is when a session is due for a clock input, and for which.
	Timer = lifecycle.Timer
	// TimerKind is the kind of a clock input.
	TimerKind = lifecycle.TimerKind
	// Reader is scratch space that sessions of one goroutine share.
	Reader = decode.Reader
)

const (
	// FoldVersion is the newest fold version that this program knows.
	FoldVersion = lifecycle.FoldVersion
	// Flush is the kind of a clock input that emits held text.
	Flush = lifecycle.Flush
)

// DefaultRules returns the rules in force before the first rules input.
func DefaultRules() Rules { return lifecycle.DefaultRules() }
