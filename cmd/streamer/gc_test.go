package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		live, room uint64
		want       int
	}{
		{0, gcRoom, gcMost},
		{10 << 20, gcRoom, gcMost},
		{128 << 20, gcRoom, 200},
		{10 << 30, gcRoom, 100},
		{32 << 20, 64 << 20, 200},
		{32 << 20, 1, 100},
	} {
		if got := gcPercent(c.live, c.room); got != c.want {
			t.Errorf("%d bytes in use, room for %d: got %d %%, want %d", c.live, c.room, got, c.want)
		}
	}
}

// TestGCRoom: in a container with little memory little garbage may wait.
func TestGCRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.max")
	if got := gcRoomIn(file); got != gcRoom {
		t.Errorf("without a limit: got %d, want %d", got, gcRoom)
	}
	for text, want := range map[string]uint64{"max\n": gcRoom, "134217728\n": 16 << 20, "1099511627776\n": gcRoom} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := gcRoomIn(file); got != want {
			t.Errorf("limit %q: got %d, want %d", text, got, want)
		}
	}
}
