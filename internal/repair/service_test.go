package repair

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// memory is a Log in memory. It has the events of session s.
type memory struct {
	bodies []string
	blobs  map[string][]byte
	broken error    // returned by every method, if set
	asked  []uint64 // events that were read
}

func (m *memory) Events(_ context.Context, token string, _ uint64, fn func(events.Record) error) error {
	for i, body := range m.bodies {
		var e struct{ Type events.Type }
		if token != "s" || json.Unmarshal([]byte(body), &e) != nil {
			break
		}
		if err := fn(events.Record{Seq: uint64(i + 1), Type: e.Type, Data: []byte(body)}); err != nil {
			return err
		}
	}
	return m.broken
}

func (m *memory) Event(_ context.Context, _ string, seq uint64) (events.Record, error) {
	m.asked = append(m.asked, seq)
	return events.Record{Seq: seq, Data: []byte(m.bodies[seq-1])}, m.broken
}

func (m *memory) Blob(_ context.Context, ref events.Ref) ([]byte, error) {
	b, ok := m.blobs[ref.SHA256]
	if !ok {
		return nil, events.ErrNotFound
	}
	return b, m.broken
}

// closed returns the result of call id, the n-th of the session.
func closed(n int, id, rest string) string {
	return fmt.Sprintf(`{"type":"tool_call_result","event_id":"%d.0","session":"s","call":"%d.0","id":%q,"uid":%q,"tool_name":"f","timestamp":"2026-03-02T10:00:00.000Z",%s}`, n, n, id, id, rest)
}

// asking returns a history, without its last bracket, with unanswered calls.
func asking(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id))
	}
	return `[{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

// answered returns such a history with results.
func answered(history string, idsAndContents ...string) string {
	for i := 0; i < len(idsAndContents); i += 2 {
		history += fmt.Sprintf(`,{"role":"tool","tool_call_id":%q,"content":%s}`, idsAndContents[i], idsAndContents[i+1])
	}
	return history + "]"
}

const noResult = `"Tool call f with id x was interrupted: no result was recorded. It may or may not have run."`

// messages returns the field messages of an answer, byte for byte.
func messages(t *testing.T, answer []byte) string {
	t.Helper()
	var in map[string]json.RawMessage
	if err := json.Unmarshal(answer, &in); err != nil {
		t.Fatalf("answer %s: %v", answer, err)
	}
	return string(in["messages"])
}

// TestAnswer checks the results that the log and the options give.
func TestAnswer(t *testing.T) {
	big := events.NewBlob(events.Quote(strings.Repeat("b", 100_000)))
	ref, err := json.Marshal(big.Ref)
	if err != nil {
		t.Fatal(err)
	}
	lost := strings.Replace(string(ref), big.Ref.SHA256, strings.Repeat("0", 64), 1)
	huge := strings.Replace(lost, `"size":100002`, `"size":100000000`, 1)
	middling := `"` + strings.Repeat("m", 5000) + `"`
	log := &memory{blobs: map[string][]byte{big.Ref.SHA256: big.Data}, bodies: []string{
		closed(1, "real", `"status":"completed","tool_result":{"n": 1.50, "s":"<&>"}`),
		closed(2, "middling", `"status":"completed","tool_result":`+middling),
		closed(3, "big", `"status":"completed","tool_result_ref":`+string(ref)),
		closed(4, "lost", `"status":"completed","tool_result_ref":`+lost),
		closed(5, "huge", `"status":"completed","tool_result_ref":`+huge),
		closed(6, "stopped", `"status":"cancelled","synthetic":true,"reason":{"code":"interrupt","text":"Tool call f with id stopped was cancelled before it was completed. It may have run in part."}`),
	}}
	service := &Service{Log: log}
	preview := strings.Repeat("b", 255)
	for _, c := range []struct{ name, history, rest, want string }{
		{"no result known", asking("x"), ``, answered(asking("x"), "x", noResult)},
		{"not of that session", asking("x"), `,"session":"s"`, answered(asking("x"), "x", noResult)},
		{"of no session", asking("real"), ``, answered(asking("real"), "real", strings.Replace(noResult, "id x", "id real", 1))},
		{"nothing to do, odd bytes", " [ {\"role\":\"user\" ,\"content\":\"\\ud800 <&> \\u003c\",\"n\":1.0e3,\"n\":2}\n\t] ", ``, " [ {\"role\":\"user\" ,\"content\":\"\\ud800 <&> \\u003c\",\"n\":1.0e3,\"n\":2}\n\t] "},
		{"a result", asking("real"), `,"session":"s"`, answered(asking("real"), "real", `"{\"n\": 1.50, \"s\":\"<&>\"}"`)},
		{"a result that has to be fetched", asking("middling"), `,"session":"s"`, answered(asking("middling"), "middling", middling)},
		{"a large one", asking("big"), `,"session":"s"`, answered(asking("big"), "big", string(big.Data))},
		{"one that is gone", asking("lost"), `,"session":"s"`, answered(asking("lost"), "lost", `"[The result has 100002 bytes and is not stored any more. It begins:]\n\"`+preview+`"`)},
		{"one that is too large", asking("huge"), `,"session":"s"`, answered(asking("huge"), "huge", `"[The result has 100000000 bytes and is too large to stand here. It begins:]\n\"`+preview+`"`)},
		{"a reason", asking("stopped"), `,"session":"s","format":"openai"`, answered(asking("stopped"), "stopped", `"Tool call f with id stopped was cancelled before it was completed. It may have run in part."`)},
		{"the caller's own result", asking("real"), `,"session":"s","options":{"results":{"real":"mine"}}`, answered(asking("real"), "real", `"mine"`)},
		{"a renamed call", asking("big"), `,"session":"s","options":{"provider":"mistral"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := c.history
			if !strings.HasSuffix(strings.TrimSpace(history), "]") {
				history += "]"
			}
			a, err := service.Answer(t.Context(), []byte(`{"messages":`+history+c.rest+`}`), nil)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			got := messages(t, a.Bytes())
			if c.want == "" {
				if !strings.Contains(got, string(big.Data)) {
					t.Errorf("%s: got %.300s, without the result", c.name, got)
				}
			} else if got != strings.TrimSpace(c.want) {
				t.Errorf("%s:\n got  %.600s\n want %.600s", c.name, got, c.want)
			}
		})
	}
	log.asked = nil
	if _, err := service.Answer(t.Context(), []byte(`{"session":"s","messages":`+asking("real", "stopped")+`]}`), nil); err != nil || log.asked != nil {
		t.Errorf("nothing had to be fetched: asked for %d, %v", log.asked, err)
	}
}

// TestLargeArgs: args that are stored as a blob are read if they decide whose outcome a
// call gets. Args that are gone fit no call.
func TestLargeArgs(t *testing.T) {
	blob := func(q string) (data []byte, ref string) {
		b := events.NewBlob([]byte(`{"q": "` + strings.Repeat(q, 70_000) + `"}`))
		text, err := json.Marshal(b.Ref)
		if err != nil {
			t.Fatal(err)
		}
		return b.Data, string(text)
	}
	a, refA := blob("a")
	b, refB := blob("b")
	lost, refLost := blob("c")
	var ref events.Ref
	log := &memory{blobs: map[string][]byte{}}
	for n, of := range []struct{ data, ref string }{{string(a), refA}, {string(b), refB}, {"", refLost}} {
		uid := "call_0"
		if n > 0 {
			uid = fmt.Sprintf("call_0~%d.0", n)
		}
		head := fmt.Sprintf(`"event_id":"%d.0","session":"s","call":"%d.0","id":"call_0","uid":%q,"tool_name":"f"`, n, n, uid)
		log.bodies = append(log.bodies,
			`{"type":"tool_call_args_complete",`+head+`,"args_valid":true,"args_ref":`+of.ref+`}`,
			fmt.Sprintf(`{"type":"tool_call_result",%s,"status":"completed","tool_result":"ran %d"}`, head, n))
		if err := json.Unmarshal([]byte(of.ref), &ref); err != nil {
			t.Fatal(err)
		}
		if of.data != "" {
			log.blobs[ref.SHA256] = []byte(of.data)
		}
	}
	for _, c := range []struct{ args, want string }{
		{string(a), `"ran 0"`}, {string(b), `"ran 1"`}, {string(lost), "no result was recorded"}, {`{"q":"a"}`, "no result was recorded"},
	} {
		history := `[{"role":"assistant","content":[{"type":"tool_use","id":"call_0","name":"f","input":` + c.args + `}]}]`
		got, err := (&Service{Log: log}).Answer(t.Context(), []byte(`{"session":"s","messages":`+history+`}`), nil)
		if err != nil || !strings.Contains(string(got.Bytes()), c.want) {
			t.Errorf("args %.20s: got %s, %v, want %s", c.args, got.Bytes()[max(0, got.Len()-500):], err, c.want)
		}
	}
}

// TestOutputs: each output has its own fields.
func TestOutputs(t *testing.T) {
	history := asking("x") + "\n]"
	for _, c := range []struct{ output, want string }{
		{"full", `{"messages":` + asking("x") + `,{"role":"tool","tool_call_id":"x","content":` + noResult + "}\n],\"report\":{"},
		{"ops", `{"ops":[{"copy":[0,1]},{"insert":{"role":"tool","tool_call_id":"x","content":` + noResult + `}}],"report":{`},
		{"check", `{"report":{`},
	} {
		t.Run(c.output, func(t *testing.T) {
			a, err := new(Service).Answer(t.Context(), []byte(`{"options":{"output":"`+c.output+`"},"messages":`+history+`}`), nil)
			var b bytes.Buffer
			if err == nil {
				_, err = a.WriteTo(&b)
			}
			if err != nil || !bytes.HasPrefix(b.Bytes(), []byte(c.want)) || !json.Valid(b.Bytes()) || a.Len() != b.Len() || !bytes.Equal(b.Bytes(), a.Bytes()) {
				t.Errorf("%s: got %s, %v, want %s…", c.output, b.Bytes(), err, c.want)
			}
		})
	}
}

// TestScript: messages in an edit script keep their bytes.
func TestScript(t *testing.T) {
	steps := []patch.Edit{
		{Copy: &[2]int{0, 7}},
		{Insert: json.RawMessage("{ \"a\" :\"<\\u003c\" }")},
		{Replace: &patch.Replacement{Message: 7, With: json.RawMessage(`{"n": 1.0}`)}},
	}
	want := `[{"copy":[0,7]},{"insert":{ "a" :"<\u003c" }},{"replace":{"message":7,"with":{"n": 1.0}}}]`
	if got := string(Script(steps)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(Script(nil)); got != "[]" {
		t.Errorf("no steps: got %s, want []", got)
	}
}

// TestRefusals: a refusal has the right status and names what is wrong and where.
// TestBodiesOfFrontends checks that the body of a frontend's request is a history, whose
// other fields stay.
func TestBodiesOfFrontends(t *testing.T) {
	for _, c := range []struct{ body, format, result string }{
		{`{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"u","role":"user","content":"And?"}]}`, "ag-ui", `"toolCallId":"x"`},
		{`{"id":"chat","trigger":"submit-message","messages":[{"id":"a","role":"assistant","parts":[{"type":"tool-f","toolCallId":"x","state":"input-available","input":{}}]},{"id":"u","role":"user","parts":[{"type":"text","text":"And?"}]}]}`, "ai-ui", `"state":"output-error"`},
		{`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"text":"And?"}]}],"generationConfig":{}}`, "gemini", `"functionResponse"`},
	} {
		t.Run(c.format, func(t *testing.T) {
			a, err := new(Service).Answer(t.Context(), []byte(c.body), nil)
			if err != nil {
				t.Errorf("%s: %v", c.format, err)
				return
			}
			history := messages(t, a.Bytes())
			var was, is map[string]json.RawMessage
			if err := errors.Join(json.Unmarshal([]byte(c.body), &was), json.Unmarshal([]byte(history), &is)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(history, c.result) || len(is) != len(was) || !bytes.Contains(a.Bytes(), []byte(`"format":"`+c.format+`"`)) {
				t.Errorf("%s:\n got %s", c.format, a.Bytes())
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	long := strings.Repeat("é", 10_000)
	for _, c := range []struct {
		body   string
		status int
		words  string
	}{
		{``, 400, "the request is not JSON: unexpected end of JSON input at byte 0"},
		{`{"messages":[}`, 400, "at byte 13"},
		{`[]`, 400, "the request is not a JSON object but array"},
		{`null`, 400, "the request is null"},
		{`{}`, 400, `the request has no "messages"`},
		{`{"messages":[],"option":{}}`, 400, `unknown field "option" (known: format, messages, options, session)`},
		{`{"Messages":[]}`, 400, `unknown field "Messages"`},
		{`{"messages":[],"format":1}`, 400, `"format" is not a string`},
		{`{"messages":[],"format":"opanai"}`, 400, `unknown format "opanai" (known: auto, ag-ui, `},
		{`{"messages":[],"options":{"lat":"note"}}`, 400, `unknown option "lat" (known: provider, profile, dangling`},
		{`{"messages":[],"options":{"late":"never"}}`, 400, `option late: unknown value "never" (known: auto, replace, note, drop)`},
		{`{"messages":[],"options":{"late":"` + long + `"}}`, 400, `…`},
		{`{"messages":[],"session":"` + long + `"}`, 400, `session: session token of`},
		{`{"messages":[],"session":"s"}`, 400, `session: there is no event log here`},
		{`{"messages":7}`, 422, "not a history"},
		{`{"messages":null}`, 422, "not a history"},
		{`{"messages":{}}`, 422, `no "messages", "contents", "input", "items", "output" or "data"`},
		{`{"messages":[{"role":"user","content":"a"}, 7]}`, 422, "message 1 (byte 32) is a number, not an object"},
		{`{"messages":[{"role":"user","content":` + deep + `}]}`, 413, "nested deeper than 64 at byte "},
	} {
		t.Run(fmt.Sprintf("%.60s", c.body), func(t *testing.T) {
			a, err := new(Service).Answer(t.Context(), []byte(c.body), nil)
			var r *Refusal
			if !errors.As(err, &r) || r.Status != c.status || !strings.Contains(r.Text, c.words) || len(r.Text) > 2*maxText {
				t.Errorf("%.100s:\n got  %.300s, %v\n want %d, %s", c.body, a.Bytes(), err, c.status, c.words)
			}
		})
	}
}

// TestWithin: an answer that is too large becomes the edit script, unless the
// request names its output.
func TestWithin(t *testing.T) {
	history := `[{"role":"user","content":"` + strings.Repeat("a", 5000) + `"},` + asking("x")[1:] + "]"
	for _, c := range []struct {
		options, want string // the beginning of the answer, or words of the refusal
		limit         int
	}{
		{`{}`, `{"messages":`, 10_000},
		{`{}`, `{"ops":[{"copy":[0,2]},`, 5_000},
		{`{}`, `use HTTP`, 100},
		{`{"output":"full"}`, `{"messages":`, 10_000},
		{`{"output":"full"}`, `ask for "output":"ops", or use HTTP`, 5_000},
		{`{"output":"ops"}`, `{"ops":`, 5_000},
		{`{"output":"ops"}`, `use HTTP`, 100},
		{`{"output":"check"}`, `use HTTP`, 100},
	} {
		t.Run(c.options+" "+c.want, func(t *testing.T) {
			a, err := new(Service).Within(t.Context(), []byte(`{"messages":`+history+`,"options":`+c.options+`}`), c.limit)
			var r *Refusal
			switch {
			case errors.As(err, &r):
				if r.Status != 413 || !strings.HasSuffix(r.Text, c.want) {
					t.Errorf("%s, %d bytes: got %d, %s, want %s", c.options, c.limit, r.Status, r.Text, c.want)
				}
			case err != nil || a.Len() > c.limit || !bytes.HasPrefix(a.Bytes(), []byte(c.want)):
				t.Errorf("%s, %d bytes: got %.100s…, %d bytes, %v, want %s…", c.options, c.limit, a.Bytes(), a.Len(), err, c.want)
			}
		})
	}
}

// TestBrokenLog: an error of the log is not a refusal, and there is no answer.
func TestBrokenLog(t *testing.T) {
	body := []byte(`{"session":"s","messages":` + asking("x") + `]}`)
	broken := errors.New("no leader")
	for _, log := range []*memory{
		{broken: broken},
		{bodies: []string{`{"type":"tool_call_result","args_valid":7}`}},
	} {
		t.Run(fmt.Sprint(log.broken), func(t *testing.T) {
			_, err := (&Service{Log: log}).Answer(t.Context(), body, nil)
			var r *Refusal
			if err == nil || errors.As(err, &r) || log.broken != nil && !errors.Is(err, broken) {
				t.Errorf("%+v: got %v, want an error of the log's", log, err)
			}
		})
	}
}

// TestEnter: the bytes in progress are bounded. Further requests wait in order, for
// a bounded time.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Service{MaxBytes: 10 << 20, MaxAtOnce: 16 << 20, Wait: 5 * time.Second}
		enter := func(bytes int) (func(), error) { return d.Enter(t.Context(), bytes) }
		if _, err := enter(10<<20 + 1); err == nil || !strings.Contains(err.Error(), "more than 10485760 bytes") {
			t.Fatalf("too large: %v", err)
		}
		first, err := enter(10 << 20)
		if err != nil {
			t.Fatal(err)
		}
		var r *Refusal
		if _, err := enter(7 << 20); !errors.As(err, &r) || r.Status != 503 {
			t.Fatalf("more than there is: %v, want a refusal with 503", err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.Enter(cancelled, 7<<20); !errors.Is(err, context.Canceled) {
			t.Fatalf("a request that is cancelled: %v", err)
		}
		entered := make(chan func())
		go func() {
			leave, err := enter(7 << 20)
			if err != nil {
				t.Error(err)
			}
			entered <- leave
		}()
		synctest.Wait()
		first()
		first() // the second call has no effect
		second := <-entered
		third, err := enter(9 << 20)
		if err != nil {
			t.Fatalf("7 and 9 of 16: %v", err)
		}
		if _, err := enter(0); !errors.As(err, &r) { // counts for a megabyte
			t.Fatalf("16 of 16 and one more: %v, want a refusal", err)
		}
		second()
		third()
		if leave, err := enter(10 << 20); err != nil {
			t.Fatalf("all is given back: %v", err)
		} else {
			leave()
		}
	})
}
