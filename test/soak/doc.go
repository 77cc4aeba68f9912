// Package soak runs two processes for a long time under faults, with sessions that
// come and return, and checks that memory, goroutines and file descriptors are flat
// and that the logs are right in the end.
//
// Without STREAMER_SOAK the run takes some seconds; STREAMER_SOAK=1h lasts an hour.
// docs/performance.md has the figures of long runs.
package soak
