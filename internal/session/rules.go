package session

import (
	"streamer/internal/decode"
	"streamer/internal/lifecycle"
)

// FoldVersion is the newest version of the fold that this program knows.
const FoldVersion = lifecycle.FoldVersion

// Rules are the settings of the fold.
type Rules = lifecycle.Rules

// DefaultRules returns the default settings, which are in force before the first rules input.
func DefaultRules() Rules { return lifecycle.DefaultRules() }

// Timer is the next clock input that a session needs.
type Timer = lifecycle.Timer

// TimerKind is the kind of a clock input.
type TimerKind = lifecycle.TimerKind

// The kinds of clock inputs.
const (
	Deadline = lifecycle.Deadline // of a call
	Flush    = lifecycle.Flush    // emit what is held
	RunIdle  = lifecycle.RunIdle  // the run was silent
)

// Reader is scratch space that the sessions of one goroutine share.
type Reader = decode.Reader
