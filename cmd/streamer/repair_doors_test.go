package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// doors is a server, and what has to be known to come in by each door.
type doors struct {
	t    *testing.T
	home string // of the page
	dir  string
	b    *broker.Broker
	nc   *nats.Conn
}

func openDoors(t *testing.T) doors {
	t.Helper()
	d := doors{t: t, dir: t.TempDir()}
	d.home, _ = serveHere(t, d.dir, "127.0.0.1:0")
	var err error
	if d.b, err = dial(t.Context(), natsFlags{dataDir: d.dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.b.Close() })
	d.nc = d.stranger(d.dir)
	for { // until the service listens
		_, err := d.nc.Request("$SRV.PING.streamer-repair", nil, 10*time.Second)
		if err == nil {
			return d
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			t.Fatal(err)
		}
	}
}

// stranger connects as anybody on the machine can.
func (d doors) stranger(dir string) *nats.Conn {
	d.t.Helper()
	url, err := os.ReadFile(filepath.Join(dir, urlFile))
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

// post sends a body to the gateway.
func (d doors) post(path, body string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), "POST", d.home+path, strings.NewReader(body))
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

// ask sends a request to the service.
func (d doors) ask(nc *nats.Conn, body string) *nats.Msg {
	d.t.Helper()
	m, err := nc.Request("streamer.repair", []byte(body), 30*time.Second)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// until waits for the n-th event of a type in session s.
func (d doors) until(typ events.Type, n int) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	seen := errors.New("seen")
	err := d.b.Tail(ctx, "s", 0, func(e broker.Stored, _ bool) error {
		if e.Type == typ {
			n--
		}
		if n == 0 {
			return seen
		}
		return nil
	})
	if !errors.Is(err, seen) {
		d.t.Fatalf("%s: %v, %d are missing", typ, err, n)
	}
}

// happen puts a session into the log: calls that get a result, a large one, a
// result that is late, and an interrupt only.
func (d doors) happen(large string) {
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

// unanswered is a history with those calls, which were all made in one turn.
func unanswered(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id))
	}
	return `[{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ", ") + `]}`
}

// TestRepairFromLog: by every door, what the session's log has comes first: a
// real result, however late or large, then the reason why there is none.
func TestRepairFromLog(t *testing.T) {
	d := openDoors(t)
	large := strings.Repeat("l", 200_000)
	d.happen(large)
	history := unanswered("real", "large", "late", "stopped", "unknown")
	want := history
	for _, r := range [][2]string{
		{"real", `"<42>"`},
		{"large", `"` + large + `"`},
		{"late", `"{\"n\":1.0}"`},
		{"stopped", `"Tool call f with id stopped was cancelled before it was completed. It may have run in part."`},
		{"unknown", strings.ReplaceAll(inWords, "id x", "id unknown")},
	} {
		want += `,{"role":"tool","tool_call_id":"` + r[0] + `","content":` + r[1] + `}`
	}
	want += "]"
	request := `{"format":"openai","session":"s","messages":` + history + `]}`

	var out, wrong bytes.Buffer
	status := run(t.Context(), stdio{strings.NewReader(history + "]"), &out, &wrong}, []string{"repair", "--session", "s", "--data-dir", d.dir})
	if status != 0 || out.String() != want || wrong.Len() > 0 {
		t.Errorf("the command: %d, %s\n got  %s\n want %s", status, &wrong, brief(out.String()), brief(want))
	}
	status, got := d.post("v1/repair", request)
	if status != 200 || !strings.HasPrefix(got, `{"messages":`+want+`,"report":{`) {
		t.Errorf("HTTP: %d\n got  %s\n want %s", status, brief(got), brief(want))
	}
	if m := d.ask(d.nc, request); string(m.Data) != got {
		t.Errorf("NATS: %v\n got  %s\n want %s", m.Header, brief(string(m.Data)), brief(got))
	}
}

// brief leaves the middle out.
func brief(s string) string {
	if len(s) > 3000 {
		return s[:1000] + "…" + s[len(s)-1500:]
	}
	return s
}

// TestRepairNoSession: the command says that it knows nothing of a session.
func TestRepairNoSession(t *testing.T) {
	d := openDoors(t)
	var out, wrong bytes.Buffer
	status := run(t.Context(), stdio{strings.NewReader(dangling + "]"), &out, &wrong}, []string{"repair", "--session", "nobody", "--data-dir", d.dir})
	if want := "streamer repair: there is nothing of session nobody in the event log\n"; status != 0 || out.String() != answered || wrong.String() != want {
		t.Errorf("got %d, %s, %s, want 0 and %s", status, &out, &wrong, want)
	}
	status = run(t.Context(), stdio{strings.NewReader(dangling + "]"), &out, &wrong}, []string{"repair", "--session", strings.Repeat(".", 300), "--data-dir", d.dir})
	if status != exitNoRepair || !strings.Contains(wrong.String(), "is longer than 256") {
		t.Errorf("a session that can be none: %d, %s", status, &wrong)
	}
}

// TestRepairService: what NATS cannot carry is answered by the steps, or
// refused in words; what is wrong is said as the gateway says it.
func TestRepairService(t *testing.T) {
	d := openDoors(t)
	nearly := `[{"role":"user","content":"` + strings.Repeat("a", d.b.MaxPayload()-1500) + `"},` + unanswered("x")[1:] + "]"
	for _, c := range []struct{ name, request, code, words, answer string }{
		{"small", `{"messages":` + dangling + `]}`, "", "", `{"messages":` + answered + `,"report":{`},
		{"large", `{"messages":` + nearly + `}`, "", "", `{"ops":[{"copy":[0,2]},{"insert":`},
		{"large, the steps", `{"messages":` + nearly + `,"options":{"output":"ops"}}`, "", "", `{"ops":[{"copy":[0,2]},{"insert":`},
		{"large, in full", `{"messages":` + nearly + `,"options":{"output":"full"}}`, "413", `ask for "output":"ops", or use HTTP`, `{"error":"the answer has `},
		{"no history", `{"messages":[7]}`, "422", "message 0 (byte 1) is a number", `{"error":"not a history: `},
		{"no request", `hello`, "400", "the request is not JSON", `{"error":"the request is not JSON`},
		{"nothing", ``, "400", "the request is not JSON", `{"error":"the request is not JSON`},
	} {
		m := d.ask(d.nc, c.request)
		if m.Header.Get(micro.ErrorCodeHeader) != c.code || !strings.Contains(m.Header.Get(micro.ErrorHeader), c.words) || !strings.HasPrefix(string(m.Data), c.answer) {
			t.Errorf("%s:\n got  %v %s\n want %s %s %s", c.name, m.Header, brief(string(m.Data)), c.code, c.words, c.answer)
		}
	}
	info, err := d.nc.Request("$SRV.INFO.streamer-repair", nil, 10*time.Second)
	var told micro.Info
	if err == nil {
		err = json.Unmarshal(info.Data, &told)
	}
	if err != nil || len(told.Endpoints) != 1 || told.Endpoints[0].Subject != "streamer.repair" || !semver.MatchString(told.Version) {
		t.Errorf("info: %+v, %v", told, err)
	}
}

// TestRepairServiceOff: the service can be left out; the other doors stay.
func TestRepairServiceOff(t *testing.T) {
	d := doors{t: t, dir: t.TempDir()}
	d.home, _ = serveHere(t, d.dir, "127.0.0.1:0", "--repair-service=false")
	if status, got := d.post("v1/repair", `{"messages":`+dangling+`]}`); status != 200 {
		t.Errorf("HTTP: got %d %s, want 200", status, got)
	}
	if m, err := d.stranger(d.dir).Request("streamer.repair", nil, 10*time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("NATS: got %+v, %v, want no responders", m, err)
	}
}

func TestSemantic(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"v1.2.3", "1.2.3"},
		{"v0.0.0-20261121063000-f2bcff4abcde+dirty", "0.0.0-20261121063000-f2bcff4abcde+dirty"},
		{"(devel)", "0.0.0"},
		{"unknown", "0.0.0"},
		{"", "0.0.0"},
		{"v1.2", "0.0.0"},
	} {
		if got := semantic(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
