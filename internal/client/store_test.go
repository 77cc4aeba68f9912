package client

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/gateway"
)

// TestLatest: a session that is listed several times is returned once, as it was
// listed last, and the newest sessions come first.
func TestLatest(t *testing.T) {
	at := func(name string, s int64, open int) gateway.SessionInfo {
		return gateway.SessionInfo{Session: name, Last: time.Unix(s, 0), Open: open}
	}
	for _, c := range []struct {
		limit int
		want  string
	}{{9, "b 2, a 1, c 0"}, {2, "b 2, a 1"}, {0, ""}} {
		t.Run(fmt.Sprint("limit ", c.limit), func(t *testing.T) {
			got := ""
			for i, s := range latest([]gateway.SessionInfo{at("a", 1, 0), at("b", 2, 0), at("c", 3, 0), at("a", 5, 1), at("b", 4, 1), at("b", 6, 2)}, c.limit) {
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprint(s.Session, " ", s.Open)
			}
			if got != c.want {
				t.Errorf("limit %d: got %q, want %q", c.limit, got, c.want)
			}
		})
	}
}
