package decode

import "streamer/internal/decode/wire"

// Problem describes a part of an input that was not used, and why. The rest of
// the input was used.
type Problem = wire.Problem

// The codes of a Problem that callers distinguish.
const (
	BadJSON = wire.BadJSON
	BadUTF8 = wire.BadUTF8
)
