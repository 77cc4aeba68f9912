package chaos

import (
	"math/rand/v2"
	"sync"
)

// tokens are the sessions that have inputs, the newest last.
type tokens struct {
	mu   sync.Mutex
	list []string
}

// add adds a session.
func (t *tokens) add(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, token)
}

// any returns one of the newest sessions, or as often one of all; "" if there is none.
func (t *tokens) any(rnd *rand.Rand) string {
	if rnd.IntN(2) == 0 {
		return t.random(rnd)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == 0 {
		return ""
	}
	return t.list[rnd.IntN(len(t.list))]
}

// random returns one of the newest sessions, "" if there is none.
func (t *tokens) random(rnd *rand.Rand) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := t.list[max(0, len(t.list)-2*publishers):]
	if len(newest) == 0 {
		return ""
	}
	return newest[rnd.IntN(len(newest))]
}
