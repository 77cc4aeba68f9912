package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"streamer/internal/events"
)

// slowStore answers reads of an event after a time.
type slowStore struct {
	*memory
	after time.Duration
}

func (s slowStore) Event(ctx context.Context, token string, seq uint64) (events.Record, error) {
	select {
	case <-time.After(s.after):
	case <-ctx.Done():
		return events.Record{}, ctx.Err()
	}
	return s.memory.Event(ctx, token, seq)
}

// TestSlowAnswer checks that a request without a body is answered though the event log needs
// more time than a client has for a body.
func TestSlowAnswer(t *testing.T) {
	store := slowStore{newMemory(), 200 * time.Millisecond}
	store.some("s", 1)
	addr, _ := served(t, build(t, Options{ReadTimeout: 20 * time.Millisecond}, store))
	resp, err := http.Get("http://" + addr + "/v1/sessions/s/events/1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var e map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("got %s, %v, want the event", resp.Status, err)
	}
}
