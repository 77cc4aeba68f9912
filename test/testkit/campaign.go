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
