// Package damage contains only tests. Each test takes these steps:
//   - fill the data directory of a `streamer serve` with sessions;
//   - damage a copy of the directory in one way: a stream is deleted, purged,
//     truncated, restored from an older copy, or has a flipped bit;
//   - start the program on the copy and publish the inputs that close the open
//     calls;
//   - check what docs/operations.md promises for that damage.
//
// The checks read the event log directly and share no code with the program.
//
// Without STREAMER_CAMPAIGNS=1 it runs some of the damages.
package damage
