package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// TestInputRates: inputs above the rate of a subject or of an address get 429, those of
// others do not, and an interrupt passes.
func TestInputRates(t *testing.T) {
	opts := withTokens(t)
	opts.MaxInputRate, opts.MaxByteRate = 5, 1<<20 // a slow machine stores more than 5 per second, too
	store := newMemory()
	g := build(t, opts, store)
	url := serveHandler(t, g) + "/v1/sessions/s/"
	of := func(subject string) string {
		return "Authorization: Bearer " + signedToken(t, subject, everything, time.Hour)
	}
	refused := 0
	for range 50 {
		resp, body := do(t, "POST", url+"deltas", "{}", of("alice"))
		if resp.StatusCode == 429 {
			refused++
			if resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "this subject of tokens may store 5 inputs and 1048576 bytes per second") {
				t.Fatalf("got %v %s", resp.Header, body)
			}
		}
	}
	if refused == 0 || len(store.inputs) != 50-refused {
		t.Errorf("%d of 50 were refused and %d are stored", refused, len(store.inputs))
	}
	if resp, body := do(t, "POST", url+"interrupt", "", of("alice")); resp.StatusCode != 202 {
		t.Errorf("an interrupt: got %d %s, want 202", resp.StatusCode, body)
	}
	if resp, body := do(t, "POST", url+"deltas", "{}", of("bob")); resp.StatusCode != 202 {
		t.Errorf("another subject: got %d %s, want 202", resp.StatusCode, body)
	}
	before := g.counts.throttled.Load()
	if status, a := send(t, "POST", url+"deltas", strings.Repeat("{}\n", 8), of("carol")); status != 202 || a.Inputs != 8 {
		t.Errorf("a body that is stored as it arrives: got %d %+v, want all of it to be stored", status, a)
	}
	if g.counts.throttled.Load() == before {
		t.Error("no input of it waited")
	}
}

// TestBusy: an input that is refused because too many wait gets 429 with the reason.
// It is no warning in the log, for there can be as many as requests.
func TestBusy(t *testing.T) {
	store, log := newMemory(), bytes.Buffer{}
	g, err := New(Options{}, store, nil, zerolog.New(&log).Level(zerolog.InfoLevel))
	if err != nil {
		t.Fatal(err)
	}
	url := serveHandler(t, g)
	store.broken = &NotStoredError{Why: errors.New("the worker is 45s behind"), Busy: true}
	resp, body := do(t, "POST", url+"/v1/sessions/a/deltas", "{}")
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "10" || !strings.Contains(body, "the worker is 45s behind") {
		t.Errorf("got %d %v %s, want 429 with the reason", resp.StatusCode, resp.Header, body)
	}
	if log.Len() > 0 {
		t.Errorf("the log has %s", log.String())
	}
}

// TestRates: an allowance fills up again, and the number of those that are remembered is bounded.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := rates{inputs: 2, bytes: 100, maxBody: 500}
		for i, want := range []time.Duration{0, 0, 500 * time.Millisecond} {
			if got, _ := q.take("a", 1); got != want {
				t.Errorf("input %d: got %v, want %v", i, got, want)
			}
		}
		if got, undo := q.take("b", 500); got != 0 {
			t.Errorf("a body of the maximum size: got %v, want no wait", got)
		} else if got, _ := q.take("b", 100); got != time.Second {
			t.Errorf("more bytes: got %v, want 1s", got)
		} else {
			undo()
		}
		if got, _ := q.take("", 1e9); got != 0 {
			t.Errorf("nobody in particular: got %v, want no wait", got)
		}
		time.Sleep(time.Second)
		if got, _ := q.take("a", 1); got != 0 {
			t.Errorf("a second later: got %v, want no wait", got)
		}
		for i := range 2 * maxAllowances {
			if q.take(fmt.Sprint(i), 1); len(q.of) > maxAllowances {
				t.Fatalf("%d holders are remembered", len(q.of))
			}
		}
	})
}
