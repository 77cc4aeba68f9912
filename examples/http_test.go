package examples_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// within bounds how long a test waits.
const within = 2 * time.Minute

// post stores an input over HTTP.
func post(t *testing.T, url, body string) {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusAccepted {
		t.Fatalf("POST %s: %s: %s", url, answer.Status, text)
	}
}

// read returns the events of a session from its beginning to the first one for which
// last returns true. Synthetic messages are left out.
func read(t *testing.T, server, session string, last func(*events.Event) bool) (list []events.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/v1/sessions/"+session+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		var e events.Event
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is || json.Unmarshal([]byte(data), &e) != nil || e.Type == "" {
			continue
		}
		list = append(list, e)
		if last(&e) {
			return list
		}
	}
	types := ""
	for _, e := range list {
		types += " " + string(e.Type)
	}
	t.Fatalf("session %s: the stream ends after the events%s", session, types)
	return nil
}

// ended reports whether the run ends with an event.
func ended(e *events.Event) bool { return e.Type == events.RunFinished }

// of returns the events of a type.
func of(list []events.Event, kind events.Type) (some []events.Event) {
	for _, e := range list {
		if e.Type == kind {
			some = append(some, e)
		}
	}
	return some
}
