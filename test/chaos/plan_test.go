package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// plan has the faults from which a run chooses.
type plan struct {
	usual []fault
	often []fault // half of the faults are chosen from these, if there are any
	loses bool    // acknowledged inputs may be lost
}

// newPlan returns a plan in which the faults named by STREAMER_CHAOS_FAULT,
// separated by commas, are frequent. Without that variable, one seed of four rolls
// back the input stream. Other runs lose no input, so that all events can be
// compared. If power is set, the faults of power and disks are frequent, and only then
// they occur.
func newPlan(t *testing.T, seed uint64, power bool) (p plan) {
	names := strings.Split(os.Getenv("STREAMER_CHAOS_FAULT"), ",")
	if names[0] == "" {
		names = nil
		if !power && rand.New(rand.NewPCG(seed, 2)).IntN(4) == 0 {
			names = []string{rolledBack}
		}
	}
	for _, m := range faults {
		if m.power && !power {
			continue
		}
		if m.power && len(names) == 0 {
			p.often = append(p.often, m)
		}
		if !m.loses && !m.power {
			p.usual = append(p.usual, m)
		}
		if i := slices.Index(names, m.name); i >= 0 {
			p.often, p.loses = append(p.often, m), p.loses || m.loses
			names = slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		t.Fatalf("STREAMER_CHAOS_FAULT: unknown fault %q; the known ones are:%s", names[0], faultNames())
	}
	return p
}

// faultNames returns the names of all faults, one per line.
func faultNames() (list string) {
	for _, m := range faults {
		list += fmt.Sprintf("\n  %s", m.name)
	}
	return list
}
