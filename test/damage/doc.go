// Package damage holds tests only. They fill the data directory of a `streamer
// serve` with sessions, damage a copy of it in one way (a stream deleted, purged,
// truncated, with a flipped bit or put back to an earlier state), start the
// program on it, publish at once what the open calls wait for, and check what
// docs/operations.md promises for that damage. The checks read the event log
// directly and share no code with the program.
//
// `go test ./test/damage` takes about two minutes; `-short` runs some of the
// rows.
package damage
