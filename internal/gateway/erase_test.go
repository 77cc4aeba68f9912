package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// slowEraser is a store that erases slowly.
type slowEraser struct {
	*memory
	takes time.Duration
}

func (s slowEraser) Erase(context.Context, string) (Erased, error) {
	<-time.After(s.takes)
	return Erased{Inputs: 1}, nil
}

// TestSlowErasure: an erasure that takes longer than other requests may is answered.
func TestSlowErasure(t *testing.T) {
	const short = 20 * time.Millisecond
	url := serve(t, Options{ReadTimeout: short, StoreTimeout: short, WriteTimeout: short}, slowEraser{newMemory(), 5 * short})
	if resp, body := do(t, "DELETE", url+"/v1/sessions/s", ""); resp.StatusCode != 200 || body != `{"session":"s","inputs":1,"events":0,"chunks":0}`+"\n" {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

// TestCursorBeforeErasure: a client that comes back with the id of an erased event gets the
// event of the erasure, also where the log began with the session.
func TestCursorBeforeErasure(t *testing.T) {
	store := newMemory()
	store.some("s", 5)
	store.add("s", events.SessionErased, `{"type":"session_erased"}`)
	store.forget(6)
	base := serve(t, Options{}, store) + "/v1/sessions/"
	openStream(t, base+"s/events?last_event_id=2").want("stream.open", "6 session_erased")
}

// TestFailedErasure: a session that is held is named as such; otherwise the request can be
// repeated.
func TestFailedErasure(t *testing.T) {
	for why, want := range map[error]string{
		fmt.Errorf("erasing: %w", ErrHeld): "the session is held",
		errors.New("no worker"):            "repeat the request",
	} {
		t.Run(want, func(t *testing.T) {
			store := newMemory()
			store.broken = why
			resp, body := do(t, "DELETE", serve(t, Options{}, store)+"/v1/sessions/s", "")
			if resp.StatusCode != 503 || !strings.Contains(body, want) || strings.Contains(body, "no worker") {
				t.Errorf("got %d %s, want 503 with %q", resp.StatusCode, body, want)
			}
		})
	}
}
