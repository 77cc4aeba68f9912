// Package memory measures how much memory the program takes, with the embedded
// server in it: with many open sessions, after a restart, and over minutes of
// short sessions. It measures the process from outside, as its operator would.
// The measurements run only where STREAMER_MEMORY is set, and on Linux only.
package memory
