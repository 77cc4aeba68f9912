//go:build race

package testkit

// Race reports whether the test has the race detector.
const Race = true
