package lifecycle

import (
	"strconv"
	"testing"
)

// TestMemoryUsed checks that the ids of closed calls are found before and after the
// map replaces the search, as they are forgotten, and after loading.
func TestMemoryUsed(t *testing.T) {
	const limit = searched + 4
	var m Memory
	for n := range 3 * limit {
		id := strconv.Itoa(n)
		m.close(Closed{ID: id, UID: id + "~u"}, limit)
		if n%5 == 0 {
			m.resume()
		}
		for old := range n + 2 {
			id, want := strconv.Itoa(old), old <= n && old > n-limit
			if m.used(id) != want || m.used(id+"~u") != want || (m.find(id, "") != nil) != want {
				t.Fatalf("call %s is used: %t, want %t after call %d", id, m.used(id), want, n)
			}
		}
	}
}
