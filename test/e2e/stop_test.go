package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/test/testkit"
)

// TestStopHolds: a stop holds while NATS stalls and after a restart of the process, touches no
// other session, and ends with a resume.
func TestStopHolds(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"of the model"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(upstream.Close)
	link := testkit.NewLink(t, strings.TrimPrefix(brokertest.NewServer(t).URL(), "nats://"))
	serve := func() *testkit.Process {
		return start(t, "serve", "--nats-url", "nats://"+link.Addr(), "--http-listen", "127.0.0.1:0", "--tap", "up="+upstream.URL)
	}
	p := serve()
	post := func(path, session, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Page()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Streamer-Session", session)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	held := func(session string) bool {
		t.Helper()
		answer := post("/tap/up/v1/chat/completions", session, `{"messages":[{"role":"user","content":"count"},{"role":"assistant","content":"of the model"},{"role":"tool","tool_call_id":"x","content":"1"}]}`)
		if stopped := strings.Contains(answer, "stopped by an interrupt: enough."); stopped != strings.Contains(answer, "of the model") {
			return stopped
		}
		t.Errorf("the answer is %s", answer)
		return false
	}
	check := func(when string, want bool) {
		t.Helper()
		if got := held("s"); got != want {
			t.Errorf("%s: held is %v", when, got)
		}
		if held("other") {
			t.Errorf("%s: another session is held", when)
		}
	}
	check("before", false)
	post("/v1/sessions/s/interrupt", "", `{"reason":"enough"}`)
	testkit.UntilTrue(t, "the stop", func() bool { return held("s") }, &p.Log)
	check("stopped", true)
	link.Fail(true)
	check("while NATS stalls", true)
	link.Heal()
	p.End(syscall.SIGTERM)
	p = serve()
	check("after a restart", true)
	post("/v1/sessions/s/resume", "", "")
	testkit.UntilTrue(t, "the resume", func() bool { return !held("s") }, &p.Log)
}
