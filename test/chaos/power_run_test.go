//go:build power

package chaos

import (
	"testing"

	"streamer/test/testkit"
)

// TestPower is TestChaos with servers that sync as deploy/nats recommends, when they lose
// what they have not synced, one has bit errors in its files and leads, and one is replaced.
func TestPower(t *testing.T) {
	testkit.Campaign(t)
	chaos(t, true)
}
