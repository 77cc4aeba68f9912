package testkit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Within is how long a test waits for an expected result. Only a test that fails waits
// for so long, and a machine that is busy with other work is no reason to fail.
const Within = 5 * time.Minute

// The time between two checks of a condition doubles from firstPause to lastPause.
const firstPause, lastPause = time.Millisecond, 50 * time.Millisecond

// Poll checks a condition until wrong returns nil, and returns the last error if ctx
// ends first. Tests use it where nothing tells them about a change.
func Poll(ctx context.Context, wrong func() error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := wrong()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Until waits until wrong returns nil, and fails the test with the last error and the
// logs if it does not.
func Until(t testing.TB, what string, wrong func() error, logs ...fmt.Stringer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Within)
	defer cancel()
	if err := Poll(ctx, wrong); err != nil {
		t.Fatalf("%s: not after %v: %v\n%v", what, Within, err, logs)
	}
}

// UntilTrue waits until ok returns true, as Until does.
func UntilTrue(t testing.TB, what string, ok func() bool, logs ...fmt.Stringer) {
	t.Helper()
	Until(t, what, func() error {
		if !ok() {
			return errFalse
		}
		return nil
	}, logs...)
}

var errFalse = errors.New("the condition is false")

// Check returns err, or an error with the first faults of a list, nil if it is empty.
func Check(faults []string, err error) error {
	if err != nil || len(faults) == 0 {
		return err
	}
	const most = 8
	return fmt.Errorf("%d faults, want none:\n%s", len(faults), strings.Join(faults[:min(most, len(faults))], "\n"))
}
