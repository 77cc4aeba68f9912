package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// plan is which mishaps a run draws from.
type plan struct {
	usual []mishap
	often []mishap // half of those that happen, unless there are none
	loses bool     // inputs that were acknowledged may be lost
}

// newPlan plans the mishaps that STREAMER_CHAOS_MISHAP names, separated by
// commas, to happen often. Without it one seed of four puts the input stream
// back. Other runs lose no input, so that all events can be compared.
func newPlan(t *testing.T, seed uint64) (p plan) {
	names := strings.Split(os.Getenv("STREAMER_CHAOS_MISHAP"), ",")
	if names[0] == "" {
		names = nil
		if rand.New(rand.NewPCG(seed, 2)).IntN(4) == 0 {
			names = []string{rolledBack}
		}
	}
	for _, m := range mishaps {
		if !m.loses {
			p.usual = append(p.usual, m)
		}
		if i := slices.Index(names, m.name); i >= 0 {
			p.often, p.loses = append(p.often, m), p.loses || m.loses
			names = slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		t.Fatalf("STREAMER_CHAOS_MISHAP: there is no mishap %q, only these:%s", names[0], mishapNames())
	}
	return p
}

func mishapNames() (list string) {
	for _, m := range mishaps {
		list += fmt.Sprintf("\n  %s", m.name)
	}
	return list
}
