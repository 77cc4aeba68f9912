package server

import (
	"net/url"
	"strings"
	"testing"

	"streamer/internal/client"
	"streamer/test/testkit"
)

// TestReady: a running server is ready, under its address and under the one that
// stands for all; without a server, and before it runs, there is an error.
func TestReady(t *testing.T) {
	s, _ := running(t)
	u, err := url.Parse(s.Page())
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{u.Host, "0.0.0.0:" + u.Port(), ":" + u.Port()} {
		if err := client.Ready(t.Context(), listen); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
	if err := client.Ready(t.Context(), testkit.FreePort(t)); err == nil || !strings.Contains(err.Error(), "no server answers") {
		t.Errorf("without a server: %v", err)
	}
	if err := client.Ready(t.Context(), "nowhere"); err == nil {
		t.Error("an address without a port is accepted")
	}
}
