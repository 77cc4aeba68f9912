// Package chaos holds a test only: three nats-server processes in a cluster,
// three streamer processes that share its partitions, publishers, and somebody
// who kills, freezes, cuts off and restarts them at random moments, and sets
// back or fills the disk of one server. Afterwards the event log must be the
// fold of the input log, each event once and each call closed once, and readers,
// some of them by Server-Sent Events, must have heard each event once.
//
// `go test ./test/chaos` does it for 20 seconds. STREAMER_CHAOS=5m gives
// another duration; STREAMER_SEED=n repeats what was done and published (what
// the processes were doing at that moment differs, of course);
// a full disk takes the right to mount a small one, and is left out without it;
// STREAMER_CHAOS_SKEW=1 gives servers and streamers clocks that differ by
// seconds; STREAMER_CHAOS_LOGS=dir keeps the processes' logs.
package chaos
