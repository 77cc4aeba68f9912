// Package memory measures the memory of the program with its embedded server: with
// many open sessions, after a restart, during minutes of short sessions, and with
// clients that do not read. It reads the memory of the process from /proc.
//
// The measurements take minutes, so they need the build tag memory, and they need
// Linux. They print results and assert nothing about them. docs/performance.md
// describes how to run them.
package memory
