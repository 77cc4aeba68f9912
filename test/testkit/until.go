package testkit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Within is how long a test waits for an expected result. Only a test that fails waits
// for so long, and a machine that is busy with other work is no reason to fail.
const Within = 2 * time.Minute

// pollInterval is the time between two checks of a condition.
const pollInterval = 50 * time.Millisecond

// Until waits until wrong returns nil, and fails the test with the last error and the
// logs if it does not.
func Until(t testing.TB, what string, wrong func() error, logs ...fmt.Stringer) {
	t.Helper()
	limit, tick := time.After(Within), time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := wrong()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not after %v: %v\n%v", what, Within, err, logs)
		}
	}
}

// Check returns err, or an error with the first faults of a list, nil if it is empty.
func Check(faults []string, err error) error {
	if err != nil || len(faults) == 0 {
		return err
	}
	const most = 8
	return fmt.Errorf("%d faults, want none:\n%s", len(faults), strings.Join(faults[:min(most, len(faults))], "\n"))
}
