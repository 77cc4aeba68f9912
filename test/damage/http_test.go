package damage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"streamer/test/testkit"
)

// answer is a response of the HTTP API. status is 0 if there was no response.
type answer struct {
	status int
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, bytes.TrimSpace(a.body)) }

// get requests a path of the HTTP API.
func (in *instance) get(path string) answer {
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodGet, in.page+path, nil)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	return respond(req)
}

// respond sends a request and returns the answer.
func respond(req *http.Request) answer {
	client := http.Client{Timeout: 10 * time.Second}
	r, err := client.Do(req)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	return answer{r.StatusCode, body}
}

// publish posts an input until the answer is 202. It retries only after 503 and a
// failed connection.
func (in *instance) publish(session string, i input) error {
	ctx, cancel := context.WithTimeout(in.t.Context(), testkit.Within)
	defer cancel()
	var refused error // ends the tries
	err := testkit.Poll(ctx, func() error {
		req, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, in.page+"/v1/sessions/"+url.PathEscape(session)+"/"+i.kind, strings.NewReader(i.body))
		if err != nil {
			refused = err
			return nil
		}
		req.Header.Set("Idempotency-Key", i.key)
		a := respond(req)
		if a.status == http.StatusAccepted {
			return nil
		}
		wrong := fmt.Errorf("input %s of session %s: got answer %v, want 202", i.key, session, a)
		if a.status != 0 && a.status != http.StatusServiceUnavailable || !in.Running() {
			refused = wrong
			return nil
		}
		return wrong
	})
	return errors.Join(refused, err)
}

// ready returns the answer of /readyz, "" if the process is ready and no session is held.
func (in *instance) ready() (problem string) {
	if a := in.get("/readyz"); a.status != http.StatusOK || strings.Contains(a.String(), "are held") {
		return a.String()
	}
	return ""
}

// openCalls returns the metric streamer_calls_open, -1 if it is absent.
func (in *instance) openCalls() float64 {
	for line := range strings.Lines(string(in.get("/metrics").body)) {
		if value, ok := strings.CutPrefix(line, "streamer_calls_open "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err == nil {
				return n
			}
		}
	}
	return -1
}

// openListed returns the number of open calls in the list of sessions.
func (in *instance) openListed() (n int) {
	var list []struct{ Open int }
	a := in.get("/v1/sessions")
	if err := json.Unmarshal(a.body, &list); err != nil {
		in.t.Fatalf("the list of sessions: %v: %v", a, err)
	}
	for _, s := range list {
		n += s.Open
	}
	return n
}
