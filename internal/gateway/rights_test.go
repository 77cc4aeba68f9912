package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/auth"
	"streamer/internal/events"
	"streamer/internal/repair"
	"streamer/internal/session"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/rs/zerolog"
)

const (
	jwtSecret  = "0123456789abcdef0123456789abcdef"
	everything = `{"watch":[{"pattern":"*"}],"publish":[{"pattern":"*"}],"interrupt":[{"pattern":"*"}],"answer":[{"pattern":"*"}],"erase":[{"pattern":"*"}]}`
)

// withTokens returns the options of a gateway that accepts tokens signed with
// jwtSecret.
func withTokens(t testing.TB) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(jwtSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := auth.New(t.Context(), []auth.Issuer{{Name: "i", Audience: "streamer", SecretFile: path, Claim: "streamer"}}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return Options{Exposed: true, Verify: v.Verify}
}

// signedToken returns a token of a subject with rights.
func signedToken(t testing.TB, subject, rights string, lifetime time.Duration) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(jwtSecret)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(jwt.Claims{
		Issuer: "i", Audience: jwt.Audience{"streamer"}, Subject: subject,
		Expiry: jwt.NewNumericDate(time.Now().Add(lifetime)),
	}).Claims(map[string]any{"streamer": jsonText(rights)}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// jsonText is JSON that is written as it is.
type jsonText string

// MarshalJSON returns the text.
func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

// bearer returns the header with a token.
func bearer(t testing.TB, rights string) string {
	t.Helper()
	return "Authorization: Bearer " + signedToken(t, "alice", rights, time.Hour)
}

// TestRights checks each endpoint with tokens that permit one action on one session.
func TestRights(t *testing.T) {
	opts := withTokens(t)
	opts.Repairs = &repair.Service{Log: oneEvent("{}")}
	store := newMemory()
	store.add("s", events.ToolCallArgsComplete, `{"args_text":"{}"}`)
	store.add("t", events.ToolCallArgsComplete, `{"args_text":"{}"}`)
	url := serve(t, opts, store)
	watch, publish, interrupt := bearer(t, `{"watch":["s"]}`), bearer(t, `{"publish":["s"]}`), bearer(t, `{"interrupt":["s"]}`)
	all, none := bearer(t, everything), bearer(t, `{}`)
	headers := []string{watch, publish, interrupt, all, none}
	history := `"messages":[{"role":"user","content":"a"}]}`
	for _, c := range []struct {
		method, path, body string
		want               [5]int // statuses with the tokens above
	}{
		{"HEAD", "/v1/sessions/s/events", "", [5]int{200, 403, 403, 200, 403}},
		{"HEAD", "/v1/sessions/t/events", "", [5]int{403, 403, 403, 200, 403}},
		{"GET", "/v1/sessions/s/events/1", "", [5]int{200, 403, 403, 200, 403}},
		{"GET", "/v1/sessions/t/events/2", "", [5]int{403, 403, 403, 200, 403}},
		{"GET", "/v1/sessions/s/events/2", "", [5]int{404, 403, 403, 404, 403}}, // the event of t is not in s
		{"GET", "/v1/sessions/s/events/1/args", "", [5]int{200, 403, 403, 200, 403}},
		{"GET", "/v1/sessions/t/events/2/args", "", [5]int{403, 403, 403, 200, 403}},
		{"GET", "/v1/ai-sdk/s/stream", "", [5]int{204, 403, 403, 204, 403}},
		{"GET", "/v1/ai-sdk/t/stream", "", [5]int{403, 403, 403, 204, 403}},
		{"POST", "/v1/sessions/s/deltas", "{}", [5]int{403, 202, 403, 202, 403}},
		{"POST", "/v1/sessions/t/deltas", "{}", [5]int{403, 403, 403, 202, 403}},
		{"POST", "/v1/sessions/s/results", "{}", [5]int{403, 202, 403, 202, 403}},
		{"POST", "/v1/sessions/s/progress", "{}", [5]int{403, 202, 403, 202, 403}},
		{"POST", "/v1/sessions/s/end", "", [5]int{403, 202, 403, 202, 403}},
		{"POST", "/v1/sessions/s/interrupt", "", [5]int{403, 403, 202, 202, 403}},
		{"POST", "/v1/sessions/t/interrupt", "", [5]int{403, 403, 403, 202, 403}},
		{"POST", "/v1/sessions/s/resume", "", [5]int{403, 403, 202, 202, 403}},
		{"POST", "/v1/sessions/s/answer", `{"call":"1.0","decision":"approve"}`, [5]int{403, 403, 403, 202, 403}},
		{"DELETE", "/v1/sessions/s", "", [5]int{403, 403, 403, 200, 403}},
		{"POST", "/v1/repair", `{` + history, [5]int{200, 200, 200, 200, 200}},
		{"POST", "/v1/repair", `{"session":"s",` + history, [5]int{200, 403, 403, 200, 403}},
		{"POST", "/v1/repair", `{"session":"t",` + history, [5]int{403, 403, 403, 200, 403}},
		{"POST", "/v1/repair", `{"session":"s","session":"t",` + history, [5]int{403, 403, 403, 200, 403}},
		{"GET", "/metrics", "", [5]int{403, 403, 403, 200, 403}},
		{"GET", "/v1/sessions", "", [5]int{200, 200, 200, 200, 200}},
		{"GET", "/", "", [5]int{404, 404, 404, 404, 404}}, // no page here; it needs no token
	} {
		t.Run(fmt.Sprintf("%.60s", c.method+" "+c.path+" "+c.body), func(t *testing.T) {
			for i, h := range headers {
				if resp, body := do(t, c.method, url+c.path, c.body, h); resp.StatusCode != c.want[i] {
					t.Errorf("%s %s %s, token %d: got %d %s, want %d", c.method, c.path, c.body, i, resp.StatusCode, body, c.want[i])
				}
			}
			if resp, _ := do(t, c.method, url+c.path, c.body); resp.StatusCode != 401 && c.path != "/" {
				t.Errorf("%s %s without a token: got %d, want 401", c.method, c.path, resp.StatusCode)
			}
		})
	}
}

// TestNeeds: a path that is not listed needs no less than the right to watch, and all
// rights if it is not only read.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		path, methods string
		want          int // number of rights
	}{
		{"/v1/new/{session}", "GET", 1},
		{"/v1/new/{session}", "POST", 5},
		{"/v1/new/{session}", "GET, POST", 5},
		{"/v1/new", "DELETE", 5},
		{"/v1/sessions/{session}/interrupt", "POST", 1},
		{"/v1/sessions/", "GET", 1},
	} {
		t.Run(c.path+" "+c.methods, func(t *testing.T) {
			if got, own := needs(c.path, c.methods); len(got) != c.want || own {
				t.Errorf("%s %s: got %v, own %t, want %d rights", c.methods, c.path, got, own, c.want)
			}
		})
	}
}

// TestRightsToManySessions: a stream of several sessions needs the right to each of them,
// and a stream of a pattern the right to all that match it.
func TestRightsToManySessions(t *testing.T) {
	opts := withTokens(t)
	h := permitted(manySessions, "GET", func(http.ResponseWriter, *http.Request) error { return nil })
	for _, c := range []struct {
		rights, query string
		permitted     bool
	}{
		{`{"watch":["a","b"]}`, "session=a&session=b", true},
		{`{"watch":["a","b"]}`, "session=a&session=c", false},
		{`{"watch":["a","b"]}`, "session=a&pattern=*", false},
		{`{"watch":["a","b"]}`, "pattern=a", false},
		{`{"watch":["a","b"]}`, "", false},
		{`{"publish":["a"]}`, "session=a", false},
		{`{"watch":[{"pattern":"a*"}]}`, "session=a1&session=a2", true},
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=a*", true},
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=ab*c*", true},
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=*", false},
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=*a*", false},
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=a*&pattern=b*", false},
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=a*&session=b", true}, // the handler refuses both together
		{`{"watch":[{"pattern":"a*"}]}`, "pattern=", false},
		{`{"watch":["a*","*"]}`, "pattern=a*", false},
		{`{"publish":[{"pattern":"a*"}]}`, "pattern=a*", false},
		{everything, "pattern=a*", true},
		{everything, "session=a", true},
	} {
		t.Run(c.rights+" "+c.query, func(t *testing.T) {
			id, err := opts.Verify(t.Context(), signedToken(t, "alice", c.rights, time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			r, cancel := withIdentity(httptest.NewRequest("GET", manySessions+"?"+c.query, http.NoBody), id)
			if err := h(nil, r); (err == nil) != c.permitted {
				t.Errorf("%s, %s: got %v, want permitted %t", c.rights, c.query, err, c.permitted)
			}
			cancel()
		})
	}
}

// TestListedSessions: the list has the sessions that the client may watch, and the
// limit counts these.
func TestListedSessions(t *testing.T) {
	store := newMemory()
	for i, s := range []string{"other", "mine", "support-2", "support-1"} {
		store.info = append(store.info, SessionInfo{Session: s, Last: time.Unix(int64(-i), 0)})
	}
	url := serve(t, withTokens(t), store)
	for rights, want := range map[string][]string{
		`{"watch":["mine"]}`: {"mine"}, `{"watch":["mine",{"pattern":"support-*"}]}`: {"mine", "support-2"},
		`{"publish":["mine"]}`: nil, everything: {"other", "mine"},
	} {
		t.Run(rights, func(t *testing.T) {
			_, body := do(t, "GET", url+"/v1/sessions?limit=2", "", bearer(t, rights))
			var got []string
			for _, row := range strings.Split(body, "{")[1:] {
				got = append(got, strings.Split(row, `"`)[3])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", rights, got, want)
			}
		})
	}
}

// TestPathTricks: other spellings of a path lead to the session that they name, and
// never around the rights.
func TestPathTricks(t *testing.T) {
	store := newMemory()
	store.add("secret", events.ToolCallStart, `{"type":"tool_call_start"}`)
	url := serve(t, withTokens(t), store)
	h := bearer(t, `{"watch":["s","a/b",".."],"interrupt":["s"]}`)
	for path, want := range map[string]int{
		"s/events": 200, "%73/events": 200, "a%2Fb/events": 200, "a%2fb/events": 200, "%2E%2E/events": 200,
		"secret/events": 403, "s%2F..%2Fsecret/events": 403, "s%00secret/events": 403, "s%00/events": 403, "S/events": 403,
		"secret%2Fevents": 405, "s%2F..%2Fsecret%2Fevents": 405, "%2A/events": 403, "s%20/events": 403, "%FF/events": 400,
		"s%EF%BC%8Fsecret/events": 403, "s;session=secret/events": 403, "secret%3Fs/events": 403,
		strings.Repeat("x", 300) + "/events": 400, "s/events/%2E%2E": 400, "s/events/1": 404,
	} {
		t.Run(path, func(t *testing.T) {
			if resp, body := do(t, "HEAD", url+"/v1/sessions/"+path, "", h); resp.StatusCode != want {
				t.Errorf("%s: got %d %s, want %d", path, resp.StatusCode, body, want)
			}
		})
	}
	// The server redirects an unclean path to the clean one, which is checked.
	for _, path := range []string{"/v1/sessions/s/../secret/events", "//v1/sessions/secret/events", "/v1/sessions/./secret/events"} {
		if resp, _ := do(t, "GET", url+path, "", h); resp.StatusCode/100 != 3 {
			t.Errorf("%s: got %d, want a redirect", path, resp.StatusCode)
		}
	}
	if resp, _ := do(t, "HEAD", url+"/v1/sessions/s/events", "", h, "X-Original-URL: /v1/sessions/secret/events", "X-HTTP-Method-Override: POST", "X-Rewrite-URL: /metrics"); resp.StatusCode != 200 {
		t.Errorf("headers that override: got %d, want 200", resp.StatusCode)
	}
}

// TestTokenOnlyInHeader: tokens in a URL or in a second header are not accepted, and
// nothing of a token is logged.
func TestTokenOnlyInHeader(t *testing.T) {
	var log bytes.Buffer
	g, err := New(withTokens(t), newMemory(), nil, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	url := serveHandler(t, g) + "/v1/sessions"
	token := signedToken(t, "alice", everything, time.Hour)
	for _, c := range []struct {
		query   string
		headers []string
		want    int
	}{
		{"", []string{"Authorization: Bearer " + token}, 200},
		{"?access_token=" + token, nil, 401},
		{"?token=" + token, nil, 401},
		{"?authorization=" + token, nil, 401},
		{"", []string{"X-Access-Token: " + token}, 401},
		{"", []string{"Authorization: " + token}, 401},
		{"", []string{"Authorization: Basic " + token}, 401},
		{"", []string{"Authorization: Bearer " + token + "x"}, 401},
		{"", []string{"Authorization: Bearer " + token + ", Bearer " + token}, 401},
		{"", []string{"Authorization: Bearer " + strings.Repeat("a", 12<<10)}, 401},
		{"", []string{"Authorization: Bearer " + signedToken(t, "alice", everything, -time.Second)}, 401},
		{"", []string{"Cookie: streamer=" + token}, 200},
		{"", []string{"Cookie: __Host-streamer=" + token}, 401}, // not TLS
		{"", []string{"Cookie: __Host-streamer=" + token, "X-Forwarded-Proto: https"}, 200},
		{"", []string{"Cookie: streamer=" + token, "X-Forwarded-Proto: https"}, 401},
		{"", []string{"Cookie: streamer=" + token, "Authorization: Bearer x"}, 401},
	} {
		t.Run(fmt.Sprintf("%.30s %.40s", c.query, c.headers), func(t *testing.T) {
			resp, body := do(t, "GET", url+c.query, "", c.headers...)
			if resp.StatusCode != c.want {
				t.Errorf("%.40s %.60q: got %d %s, want %d", c.query, c.headers, resp.StatusCode, body, c.want)
			}
			if strings.Contains(body, token[:30]) {
				t.Errorf("%.40s %.60q: the answer has the token: %s", c.query, c.headers, body)
			}
		})
	}
	if resp, _ := do(t, "GET", url, "", "Authorization: Bearer "+strings.Repeat("a", maxHeaderBytes*4)); resp.StatusCode != 401 && resp.StatusCode != 431 {
		t.Errorf("huge header: got %d", resp.StatusCode)
	}
	for part := range strings.SplitSeq(token, ".") {
		if strings.Contains(log.String(), part) {
			t.Errorf("the log has a part of the token: %s", log.String())
		}
	}
	if longest := slices.MaxFunc(strings.Split(log.String(), "\n"), func(a, b string) int { return len(a) - len(b) }); len(longest) > 2000 {
		t.Errorf("the log has a line of %d bytes", len(longest))
	}
}

// TestTwoAuthorizations: a request with two Authorization headers is refused.
func TestTwoAuthorizations(t *testing.T) {
	url := serve(t, withTokens(t), newMemory())
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/sessions", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Authorization"] = []string{"Bearer " + signedToken(t, "alice", everything, time.Hour), "Bearer x"}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("got %d, want 400", resp.StatusCode)
	}
}

// TestLoginWithToken: a page exchanges a token for a cookie that expires with it.
func TestLoginWithToken(t *testing.T) {
	url := serve(t, withTokens(t), newMemory())
	token := signedToken(t, "alice", `{"watch":["s"]}`, time.Hour)
	resp, _ := do(t, "POST", url+"/v1/login", `{"token":"`+token+`"}`, "X-Forwarded-Proto: https")
	cookies := resp.Cookies()
	if resp.StatusCode != 204 || len(cookies) != 1 {
		t.Fatalf("login: got %d %v", resp.StatusCode, cookies)
	}
	c := cookies[0]
	if c.Name != "__Host-streamer" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || time.Until(c.Expires) > time.Hour || time.Until(c.Expires) < 50*time.Minute {
		t.Errorf("got cookie %s", c)
	}
	if resp, _ := do(t, "HEAD", url+"/v1/sessions/s/events", "", "X-Forwarded-Proto: https", "Cookie: "+c.Name+"="+c.Value); resp.StatusCode != 200 {
		t.Errorf("with the cookie: got %d, want 200", resp.StatusCode)
	}
	for name, bad := range map[string]string{
		"expired": signedToken(t, "alice", everything, -time.Minute), "no token": "x", "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			if resp, _ := do(t, "POST", url+"/v1/login", `{"token":"`+bad+`"}`); resp.StatusCode != 401 || len(resp.Cookies()) > 0 {
				t.Errorf("%s: got %d %v, want 401", name, resp.StatusCode, resp.Cookies())
			}
		})
	}
	long := signedToken(t, "alice", `{"watch":["`+strings.Repeat("x", 4000)+`"]}`, time.Hour)
	if resp, _ := do(t, "POST", url+"/v1/login", `{"token":"`+long+`"}`); resp.StatusCode != 400 || len(resp.Cookies()) > 0 {
		t.Errorf("a token that is too long for a cookie: got %d, want 400", resp.StatusCode)
	}
}

// TestStreamEndsAtExpiry: a stream ends at the exp of its token, with the reason.
func TestStreamEndsAtExpiry(t *testing.T) {
	opts := withTokens(t)
	for path, want := range map[string]string{
		"/v1/sessions/s/events":       "event: stream.end\ndata: {\"reason\":\"expired\"}\n\n",
		"/v1/ai-sdk/s/stream?after=1": "", // cut off
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := newPipes()
				stop := running(t, build(t, opts, newMemory()), ln)
				conn := ln.dial(t)
				start := time.Now()
				token := signedToken(t, "alice", `{"watch":["s"]}`, time.Minute)
				go io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\n\r\n")
				got, err := io.ReadAll(conn)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < 59*time.Second || took > 61*time.Second {
					t.Errorf("%s: ended after %s, want 1 min", path, took)
				}
				if !strings.Contains(string(got), want) || strings.Contains(string(got), "finish") {
					t.Errorf("%s: got %s", path, got)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAnswerBy checks that an answer names the subject of the token, if it has one.
func TestAnswerBy(t *testing.T) {
	store := newMemory()
	opts := withTokens(t)
	opts.Check = session.Check
	url := serve(t, opts, store)
	answer := `"call":"1.0","decision":"approve"`
	for _, c := range []struct {
		subject, body string
		status        int
		want          string // is stored
	}{
		{"alice", `{` + answer + `}`, 202, `{"by":"alice",` + answer + `}`},
		{"al\"ice", " {" + answer + "} ", 202, `{"by":"al\"ice",` + answer + `}`},
		{"alice", `{` + answer + `,"by":"alice"}`, 202, `{` + answer + `,"by":"alice"}`},
		{"alice", `{` + answer + `,"by":"bob"}`, 403, ""},
		{"alice", `{` + answer + `,"by":"alice","by":"bob"}`, 403, ""},
		{"alice", `{` + answer + `,"by":"bob","by":"alice"}`, 400, ""},
		{"alice", `{` + answer + `,"by":1}`, 400, ""},
		{"alice", `{}`, 400, ""},
		{"alice", `x`, 400, ""},
		{"", `{` + answer + `}`, 202, `{` + answer + `}`},
		{"", `{` + answer + `,"by":"bob"}`, 202, `{` + answer + `,"by":"bob"}`},
	} {
		t.Run(c.subject+" "+c.body, func(t *testing.T) {
			before := len(store.inputs)
			token := "Authorization: Bearer " + signedToken(t, c.subject, everything, time.Hour)
			resp, body := do(t, "POST", url+"/v1/sessions/s/answer", c.body, token)
			stored := ""
			if len(store.inputs) > before {
				stored = strings.TrimSpace(store.inputs[before].data)
			}
			if resp.StatusCode != c.status || stored != c.want {
				t.Errorf("got %d %s, and stored %s, want %d and %s", resp.StatusCode, body, stored, c.status, c.want)
			}
		})
	}
}
