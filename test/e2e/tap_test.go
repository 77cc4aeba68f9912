package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/test/testkit"
)

// TestTapWithoutNATS: while NATS is down, or stalls, in the middle of an answer, the client
// of the tap gets each chunk as it comes, and afterwards nothing is missing in the session.
func TestTapWithoutNATS(t *testing.T) {
	t.Parallel()
	faults := map[string]func(t *testing.T) (url string, fail, heal func()){
		"stopped": func(t *testing.T) (string, func(), func()) {
			s := brokertest.NewServer(t)
			return s.URL(), s.Stop, s.Start
		},
		"stalled": func(t *testing.T) (string, func(), func()) {
			l := testkit.NewLink(t, strings.TrimPrefix(brokertest.NewServer(t).URL(), "nats://"))
			return "nats://" + l.Addr(), func() { l.Fail(true) }, l.Heal
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			url, fail, heal := fault(t)
			pieces := make(chan string)
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				for p := range pieces {
					_, _ = io.WriteString(w, p)
					_ = http.NewResponseController(w).Flush()
				}
			}))
			t.Cleanup(upstream.Close)
			p := start(t, "serve", "--nats-url", url, "--http-listen", "127.0.0.1:0", "--tap", "up="+upstream.URL)
			answer := askTap(t, p.Page())
			pass := func(piece string) {
				t.Helper()
				pieces <- piece
				if got, err := answer.ReadString('}'); err != nil || !strings.Contains(piece, got) {
					t.Fatalf("the client got %q, %v, want %q", got, err, piece)
				}
				if _, err := answer.Discard(len(piece) - strings.Index(piece, "}") - 1); err != nil {
					t.Fatal(err)
				}
			}
			chunk := func(delta string) string {
				return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
			}
			pass(chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"n\":["}}]}`))
			testkit.UntilTrue(t, "the call has started", func() bool { return strings.Contains(eventsOf(t, p.Page()), "tool_call_start") }, &p.Log)
			fail()
			for range 200 {
				pass(chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"1,"}}]}`))
			}
			heal()
			pass(chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"1]}"}}]}`))
			pass("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n")
			close(pieces)
			if rest, err := io.ReadAll(answer); err != nil || len(rest) > 0 {
				t.Errorf("the client got %q at the end, %v", rest, err)
			}
			want := `"args_text":"{\"n\":[` + strings.Repeat("1,", 200) + `1]}"`
			testkit.UntilTrue(t, "the session has the whole call", func() bool { return strings.Contains(eventsOf(t, p.Page()), want) }, &p.Log)
		})
	}
}

// askTap sends a request through the tap, in session away, and returns its answer.
func askTap(t *testing.T, page string) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"/tap/up/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"count"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Streamer-Session", "away")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return bufio.NewReader(resp.Body)
}

// eventsOf returns the stored events of session away, "" where they cannot be read.
func eventsOf(t *testing.T, page string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"/v1/sessions/away/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var text strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && lines.Text() != "event: stream.live"; {
		text.WriteString(lines.Text() + "\n")
	}
	return text.String()
}
