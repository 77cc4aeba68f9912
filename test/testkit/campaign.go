package testkit

import (
	"os"
	"testing"
)

// Campaigns reports whether STREAMER_CAMPAIGNS=1 asks for the tests that take minutes.
// Without it, tests that play many cases play a few of them.
func Campaigns() bool { return os.Getenv("STREAMER_CAMPAIGNS") == "1" }

// Campaign skips the test unless STREAMER_CAMPAIGNS=1 asks for campaigns.
func Campaign(t testing.TB) {
	t.Helper()
	if !Campaigns() {
		t.Skip("a campaign: set STREAMER_CAMPAIGNS=1")
	}
}

// Of returns how many cases a test plays: few, or all in a campaign.
func Of(few, all int) int {
	if Campaigns() {
		return all
	}
	return few
}

// Stride returns the factor by which a test that computes much tries fewer cases: 1 in a
// campaign, otherwise n. The race detector makes such a test ten times slower and finds
// nothing in it, so that it tries fewer with it, too. .ci/run tries all.
func Stride(n int) int {
	if Race {
		return n
	}
	return Of(n, 1)
}
