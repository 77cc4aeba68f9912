package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

// running runs a server until the end of the test and returns the URL of its API.
func running(t *testing.T) (*Server, string) {
	t.Helper()
	s := open(t, t.TempDir())
	run(t, s)
	return s, s.Page() + "v1/"
}

// run runs a server until end is called, or the test ends. It returns when inputs are accepted.
func run(t *testing.T, s *Server) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	select {
	case <-s.Opened():
	case <-time.After(brokertest.Within):
		t.Fatal("the server does not accept inputs")
	}
	return end
}

// request sends a request and returns the response.
func request(t *testing.T, method, url string, body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(brokertest.Deadline(t), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestIngestedStream checks the answer for a body that is stored as it arrives: the
// deltas that the fold rejects are in it, with their lines.
func TestIngestedStream(t *testing.T) {
	t.Parallel()
	_, api := running(t)
	const start = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"f","arguments":"{}"}}]}}]}`
	in, out := io.Pipe()
	go func() {
		io.WriteString(out, "data: "+start+"\n\n{\"what\":1}\n\ndata: {\"what\":2}\n\n")
		out.Close()
	}()
	resp := request(t, "PUT", api+"sessions/s/deltas", in)
	var a struct {
		Inputs, Rejected int
		Complete         bool
		Rejections       []struct {
			Code  string
			Line  int
			Count int
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 202 || a.Inputs != 3 || a.Rejected != 2 || !a.Complete || len(a.Rejections) == 0 || a.Rejections[0].Line != 3 {
		t.Errorf("got %d %+v, want 3 inputs, of which 2 are rejected, the first in line 3", resp.StatusCode, a)
	}
}

// TestUnknownSession: the answer to an interrupt says that the session had no events. Those
// of the interrupt itself do not count.
func TestUnknownSession(t *testing.T) {
	t.Parallel()
	_, api := running(t)
	post := func(path, body string) string {
		t.Helper()
		text, err := io.ReadAll(request(t, "POST", api+"sessions/s/"+path, io.MultiReader(strings.NewReader(body))).Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := post("interrupt", "{}"); !strings.Contains(got, `"unknown_session":true`) {
		t.Errorf("the first input of a session: got %s", got)
	}
	post("deltas", "{\"what\":1}\n") // its answer waits for the event
	if got := post("interrupt", "{}"); strings.Contains(got, "unknown_session") {
		t.Errorf("a session with an event: got %s", got)
	}
}

// TestMisspeltToken checks that a session without events is not listed, and that the
// rejected inputs of a misspelt token can be read over HTTP.
func TestMisspeltToken(t *testing.T) {
	t.Parallel()
	s, api := running(t)
	for session, delta := range map[string]string{"none": ": only a comment\n\n", "some": `{"what":1}`} {
		// The answer to a body without a length comes after the snapshot of the session.
		resp := request(t, "PUT", api+"sessions/"+session+"/deltas", io.MultiReader(strings.NewReader(delta)))
		if resp.StatusCode != 202 {
			t.Fatalf("session %s: got %d", session, resp.StatusCode)
		}
	}
	bad := s.Broker.InputPub("a=2e", inputs.Delta, "a", nil, []byte(`{}`))
	if ack := s.Broker.PublishWait(brokertest.Deadline(t), bad); ack.Err != nil {
		t.Fatal(ack.Err)
	}
	stream := bufio.NewScanner(request(t, "GET", api+"events?pattern=a=*&types=rejected", nil).Body)
	for stream.Scan() && !strings.Contains(stream.Text(), `"session":"a=2e"`) {
	}
	if err := stream.Err(); err != nil {
		t.Errorf("no rejected event of the token: %v", err)
	}
	list, err := io.ReadAll(request(t, "GET", api+"sessions", nil).Body)
	if err != nil || !strings.Contains(string(list), `"session":"some"`) || strings.Contains(string(list), "none") {
		t.Errorf("got %s, %v, want the session some alone", list, err)
	}
}
