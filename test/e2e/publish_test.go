package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/test/local"

	"github.com/nats-io/nats.go"
)

// keyed posts an input with an Idempotency-Key and returns the status, the
// sequence and the error in the answer.
func (d served) keyed(path, key, body string) (status int, seq uint64, why string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), "POST", d.page+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Seq   uint64 `json:"seq"`
		Error string `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, answer.Seq, answer.Error
}

// publish publishes an input on NATS and returns its sequence.
func (d served) publish(subject, msgID string) uint64 {
	d.t.Helper()
	m := nats.NewMsg(subject)
	m.Header.Set("Nats-Msg-Id", msgID)
	m.Data = []byte(`{"tool_call_id":"call_1"}`)
	reply, err := d.nc.RequestMsg(m, 10*time.Second)
	if err != nil {
		d.t.Fatal(err)
	}
	var ack struct {
		Seq uint64 `json:"seq"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil || ack.Seq == 0 {
		d.t.Fatalf("publish on %s: got %s", subject, reply.Data)
	}
	return ack.Seq
}

// inputs counts the stored inputs of a session and kind.
func (d served) inputs(token, kind string) (n int) {
	d.t.Helper()
	enough := errors.New("enough")
	err := d.b.Inputs(d.t.Context(), 0, 1, func(batch []inputs.Input, _ uint64, caughtUp bool) error {
		for _, in := range batch {
			if in.Token == token && in.Kind == inputs.Kind(kind) {
				n++
			}
		}
		if caughtUp {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		d.t.Fatal(err)
	}
	return n
}

// TestMessageIDOfAnother: an input whose message id another session or kind has
// used is stored, once however often it is posted. A repetition of the session's
// own input is not stored again, even if the first was published on NATS.
func TestMessageIDOfAnother(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	const result = `{"tool_call_id":"call_1","content":"42"}`
	post := func(what, key string, want uint64) uint64 {
		t.Helper()
		status, seq, why := d.keyed("v1/sessions/dd/results", key, result)
		if status != http.StatusAccepted || want != 0 && seq != want {
			t.Fatalf("%s: got %d %s with sequence %d, want 202 with %d", what, status, why, seq, want)
		}
		return seq
	}
	stored := 0
	check := func(what string) {
		t.Helper()
		if stored++; d.inputs("dd", "result") != stored {
			t.Errorf("%s: got %d results in the log, want %d", what, d.inputs("dd", "result"), stored)
		}
	}

	theirs := d.publish("llm.attacker.result", "dd:result:call_1")
	seq := post("another session's id", "call_1", 0)
	if seq == theirs {
		t.Errorf("another session's id: got sequence %d, which is the other's", seq)
	}
	post("posted again", "call_1", seq)
	check("another session's id")

	theirs = d.publish("llm.dd.delta", "dd:result:call_2")
	if seq = post("another kind's id", "call_2", 0); seq == theirs {
		t.Errorf("another kind's id: got sequence %d, which is the other's", seq)
	}
	check("another kind's id")

	theirs = d.publish("llm.attacker.result", "dd:result:call_3")
	theirs = d.publish("llm.attacker.result", fmt.Sprintf("dd:result:call_3~%d", theirs))
	if seq = post("the next id too", "call_3", 0); seq <= theirs {
		t.Errorf("the next id too: got sequence %d, which is the other's", seq)
	}
	post("posted again", "call_3", seq)
	check("the next id too")

	post("its own, published on NATS", "call_4", d.publish("llm.dd.result", "dd:result:call_4"))
	check("its own")
}

// TestAllMessageIDsOfOthers: an input all of whose ids are used is refused.
func TestAllMessageIDsOfOthers(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	id := "dd:end:k"
	for range 8 { // as many as the server tries
		id = fmt.Sprintf("%s~%d", id, d.publish("llm.attacker.end", id))
	}
	if status, seq, why := d.keyed("v1/sessions/dd/end", "k", "{}"); status != http.StatusServiceUnavailable {
		t.Errorf("got %d with sequence %d %s, want 503", status, seq, why)
	}
	if n := d.inputs("dd", "end"); n != 0 {
		t.Errorf("got %d ends in the log, want none", n)
	}
}

// TestFullInputLog: a full input log refuses at once, with an explanation of when
// it accepts inputs again.
func TestFullInputLog(t *testing.T) {
	t.Parallel()
	d := served{t: t, dir: t.TempDir()}
	c := local.Config(d.dir)
	c.Broker.MaxBytes = 20_000
	s, stop := local.Serve(t, c)
	d.page = s.Page()
	large := fmt.Sprintf(`{"tool_call_id":"call_1","content":"%s"}`, strings.Repeat("x", 9000))
	var status int
	var why string
	for n := 0; status != http.StatusServiceUnavailable; n++ {
		if n == 3 {
			t.Fatal("three inputs of 9000 bytes are in a log of 20000")
		}
		status, _, why = d.keyed("v1/sessions/dd/results", fmt.Sprint(n), large)
	}
	for _, want := range []string{"not stored", "input log is full", "expire", "--max-bytes"} {
		if !strings.Contains(why, want) {
			t.Errorf("got %q, want %q in it", why, want)
		}
	}
	stop()
	c.Broker.MaxBytes = 60_000
	s, _ = local.Serve(t, c)
	d.page = s.Page()
	if status, seq, why := d.keyed("v1/sessions/dd/results", "again", large); status != http.StatusAccepted {
		t.Errorf("with a larger limit: got %d %s with sequence %d, want 202", status, why, seq)
	}
}

// TestTraceContext: the event that an input over HTTP causes has the trace context
// of the request.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	sub, err := d.nc.SubscribeSync("toolcalls.traced.event.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", d.page+"v1/sessions/traced/deltas", strings.NewReader(delta(`{"content":"x"}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		inputs.HeaderTraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		inputs.HeaderTraceState:  "vendor=a",
	}
	for name, value := range want {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", resp.StatusCode)
	}
	m, err := sub.NextMsg(30 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if got := m.Header.Get(name); got != value {
			t.Errorf("%s: header %s is %q, want %q", m.Subject, name, got, value)
		}
	}
}
