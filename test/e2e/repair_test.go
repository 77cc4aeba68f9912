package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/natsserver"
	"streamer/test/local"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// A history with an unanswered call, without its last bracket; its synthetic
// result; and the repaired history.
const (
	dangling = `[{"role":"user","content":"<&>"}, {"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	noResult = `"Tool call f with id x was interrupted: no result was recorded. It may or may not have run."`
	answered = dangling + `, {"role":"tool","tool_call_id":"x","content":` + noResult + `}]`
)

// served is a running server and a client of each of its interfaces.
type served struct {
	t    *testing.T
	page string // URL
	dir  string
	b    *client.Broker
	nc   *nats.Conn
}

// openServer runs a server and waits until its repair service answers.
func openServer(t *testing.T) served {
	t.Helper()
	d := served{t: t, dir: t.TempDir()}
	s, _ := local.Serve(t, local.Config(d.dir))
	d.page = s.Page()
	var err error
	if d.b, err = client.Dial(t.Context(), client.BrokerOptions{Config: natsserver.Config{DataDir: d.dir}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.b.Close() })
	d.nc = d.connect()
	for { // until the service answers
		_, err := d.nc.Request("$SRV.PING.streamer-repair", nil, 10*time.Second)
		if err == nil {
			return d
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			t.Fatal(err)
		}
	}
}

// connect connects without credentials.
func (d served) connect() *nats.Conn {
	d.t.Helper()
	url, err := os.ReadFile(filepath.Join(d.dir, urlFile))
	if err != nil {
		d.t.Fatal(err)
	}
	_, address, _ := strings.Cut(strings.TrimSpace(string(url)), "@")
	nc, err := nats.Connect("nats://" + address)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(nc.Close)
	return nc
}

// post posts a body to the gateway and returns status and answer.
func (d served) post(path, body string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), "POST", d.page+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// ask sends a request to the repair service on NATS.
func (d served) ask(nc *nats.Conn, body string) *nats.Msg {
	d.t.Helper()
	m, err := nc.Request("streamer.repair", []byte(body), 30*time.Second)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// until waits for the n-th event of a type in session s.
func (d served) until(typ events.Type, n int) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	seen := errors.New("seen")
	err := d.b.Tail(ctx, "s", 0, func(e events.Record, _ bool) error {
		if e.Type == typ {
			n--
		}
		if n == 0 {
			return seen
		}
		return nil
	}, nil)
	if !errors.Is(err, seen) {
		d.t.Fatalf("%s: %v, %d are missing", typ, err, n)
	}
}

// publishCalls publishes a session with four calls: one gets a result, one a large
// result, one a late result, and one only an interrupt.
func (d served) publishCalls(large string) {
	d.t.Helper()
	put := func(kind, body string) {
		if status, answer := d.post("v1/sessions/s/"+kind, body); status != 202 {
			d.t.Fatalf("%s: %d %s", kind, status, answer)
		}
	}
	var calls []string
	for i, id := range []string{"real", "large", "late", "stopped"} {
		calls = append(calls, fmt.Sprintf(`{"index":%d,"id":%q,"function":{"name":"f","arguments":"{}"}}`, i, id))
	}
	put("deltas", delta(`{"tool_calls":[`+strings.Join(calls, ",")+`]}`))
	put("results", `{"tool_call_id":"real","content":"<42>"}`)
	put("results", `{"tool_call_id":"large","content":"`+large+`"}`)
	put("interrupt", `{"reason":"user"}`)
	put("results", `{"tool_call_id":"late","content":{"n":1.0}}`)
	d.until(events.ToolCallLateResult, 1)
	d.until(events.ToolCallResult, 4)
}

// unanswered returns a history, without its last bracket, with calls of one turn.
func unanswered(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id))
	}
	return `[{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ", ") + `]}`
}

// TestRepairFromLog: every interface searches the session's event log first, for a
// real result, late or large, and then for the reason why there is none.
func TestRepairFromLog(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	large := strings.Repeat("l", 200_000)
	d.publishCalls(large)
	history := unanswered("real", "large", "late", "stopped", "unknown")
	want := history
	for _, r := range [][2]string{
		{"real", `"<42>"`},
		{"large", `"` + large + `"`},
		{"late", `"{\"n\":1.0}"`},
		{"stopped", `"Tool call f with id stopped was cancelled before it was completed. It may have run in part."`},
		{"unknown", strings.ReplaceAll(noResult, "id x", "id unknown")},
	} {
		want += `,{"role":"tool","tool_call_id":"` + r[0] + `","content":` + r[1] + `}`
	}
	want += "]"
	request := `{"format":"openai","session":"s","messages":` + history + `]}`

	out, errs, status := execute(t, history+"]", "repair", "--session", "s", "--data-dir", d.dir)
	if status != 0 || out != want || errs != "" {
		t.Errorf("the command: %d, %s\n got  %s\n want %s", status, errs, brief(out), brief(want))
	}
	status, got := d.post("v1/repair", request)
	if status != 200 || !strings.HasPrefix(got, `{"messages":`+want+`,"report":{`) {
		t.Errorf("HTTP: %d\n got  %s\n want %s", status, brief(got), brief(want))
	}
	if m := d.ask(d.nc, request); string(m.Data) != got {
		t.Errorf("NATS: %v\n got  %s\n want %s", m.Header, brief(string(m.Data)), brief(got))
	}
}

// brief returns s without its middle.
func brief(s string) string {
	if len(s) > 3000 {
		return s[:1000] + "…" + s[len(s)-1500:]
	}
	return s
}

// TestRepairNoSession: the command warns if the event log has nothing of the
// session.
func TestRepairNoSession(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	out, errs, status := execute(t, dangling+"]", "repair", "--session", "none", "--data-dir", d.dir)
	if want := "streamer repair: there is nothing of session none in the event log\n"; status != 0 || out != answered || errs != want {
		t.Errorf("got %d, %s, %s, want 0 and %s", status, out, errs, want)
	}
	_, errs, status = execute(t, dangling+"]", "repair", "--session", strings.Repeat(".", 300), "--data-dir", d.dir)
	if status != 2 || !strings.Contains(errs, "is longer than 256") {
		t.Errorf("an invalid session: %d, %s", status, errs)
	}
}

// TestRepairService: an answer that is too large for NATS becomes the edits, or is
// refused with an explanation. Errors are those of the gateway.
func TestRepairService(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	nearly := `[{"role":"user","content":"` + strings.Repeat("a", d.b.MaxPayload()-1500) + `"},` + unanswered("x")[1:] + "]"
	for _, c := range []struct{ name, request, code, words, answer string }{
		{"small", `{"messages":` + dangling + `]}`, "", "", `{"messages":` + answered + `,"report":{`},
		{"large", `{"messages":` + nearly + `}`, "", "", `{"ops":[{"copy":[0,2]},{"insert":`},
		{"large, the edits", `{"messages":` + nearly + `,"options":{"output":"ops"}}`, "", "", `{"ops":[{"copy":[0,2]},{"insert":`},
		{"large, in full", `{"messages":` + nearly + `,"options":{"output":"full"}}`, "413", `ask for "output":"ops", or use HTTP`, `{"error":"the answer has `},
		{"no history", `{"messages":[7]}`, "422", "message 0 (byte 1) is a number", `{"error":"not a history: `},
		{"no request", `hello`, "400", "the request is not JSON", `{"error":"the request is not JSON`},
		{"nothing", ``, "400", "the request is not JSON", `{"error":"the request is not JSON`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := d.ask(d.nc, c.request)
			if m.Header.Get(micro.ErrorCodeHeader) != c.code || !strings.Contains(m.Header.Get(micro.ErrorHeader), c.words) || !strings.HasPrefix(string(m.Data), c.answer) {
				t.Errorf("%s:\n got  %v %s\n want %s %s %s", c.name, m.Header, brief(string(m.Data)), c.code, c.words, c.answer)
			}
		})
	}
	info, err := d.nc.Request("$SRV.INFO.streamer-repair", nil, 10*time.Second)
	var card micro.Info
	if err == nil {
		err = json.Unmarshal(info.Data, &card)
	}
	if err != nil || len(card.Endpoints) != 1 || card.Endpoints[0].Subject != "streamer.repair" || !regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(card.Version) {
		t.Errorf("info: %+v, %v", card, err)
	}
}

// TestRepairServiceOff: without the NATS service HTTP still repairs.
func TestRepairServiceOff(t *testing.T) {
	t.Parallel()
	d := served{t: t, dir: t.TempDir()}
	c := local.Config(d.dir)
	c.RepairNATS = false
	s, _ := local.Serve(t, c)
	d.page = s.Page()
	if status, got := d.post("v1/repair", `{"messages":`+dangling+`]}`); status != 200 {
		t.Errorf("HTTP: got %d %s, want 200", status, got)
	}
	if m, err := d.connect().Request("streamer.repair", nil, 10*time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("NATS: got %+v, %v, want no responders", m, err)
	}
}
