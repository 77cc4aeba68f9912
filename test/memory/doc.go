// Package memory measures how much memory the program takes, with the embedded
// server in it: with many open sessions, after a restart, over minutes of short
// sessions, and with clients that do not read. It measures the process from
// outside, as its operator would.
//
// The measurements take minutes: they are built with the tag memory, on Linux. They
// print what they find and assert nothing about it. docs/performance.md says how
// to run them.
package memory
