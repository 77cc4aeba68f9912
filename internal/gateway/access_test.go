package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func serveHandler(t testing.TB, g *Gateway) string {
	t.Helper()
	url, stop := validated(t, g, func(string) {})
	t.Cleanup(stop)
	return url
}

// TestAccess checks which requests are allowed. HERE is the server's own host and
// port.
func TestAccess(t *testing.T) {
	local := Options{}
	named := Options{Hosts: []string{"Streamer.Example.com"}, Origins: []string{"https://app.example.com"}}
	exposed := Options{Exposed: true, Token: "0123456789abcdef"}
	for _, c := range []struct {
		name    string
		opts    Options
		method  string
		headers string // separated by |
		status  int
	}{
		{"curl", local, "GET", "", 200},
		{"localhost", local, "GET", "Host: localhost:1", 200},
		{"any name below localhost", local, "GET", "Host: a.localhost", 200},
		{"IPv6 loopback", local, "GET", "Host: [::1]:8080", 200},
		{"another loopback address", local, "GET", "Host: 127.9.9.9", 200},
		{"final dot, capitals", local, "GET", "Host: LOCALHOST.", 200},
		{"rebound name", local, "GET", "Host: evil.example.com", 403},
		{"rebound name, writing", local, "POST", "Host: evil.example.com|Origin: http://evil.example.com", 403},
		{"name that begins well", local, "GET", "Host: localhost.evil.com", 403},
		{"name that begins like an address", local, "GET", "Host: 127.0.0.1.nip.io", 403},
		{"name that ends in localhost", local, "GET", "Host: evillocalhost", 403},
		{"foreign address", local, "GET", "Host: 192.168.1.5", 403},
		{"foreign address, exposed", exposed, "GET", "Host: 192.168.1.5|Authorization: Bearer 0123456789abcdef", 200},
		{"foreign name, exposed", exposed, "GET", "Host: evil.example.com|Authorization: Bearer 0123456789abcdef", 403},
		{"own name", named, "GET", "Host: streamer.example.com:443", 200},
		{"below own name", named, "GET", "Host: x.streamer.example.com", 403},

		{"same origin", local, "POST", "Origin: http://HERE|Sec-Fetch-Site: same-origin", 202},
		{"same origin behind TLS", named, "POST", "Host: streamer.example.com|Origin: https://streamer.example.com", 202},
		{"foreign origin reads", local, "GET", "Origin: https://evil.example.com", 403},
		{"foreign origin writes", local, "POST", "Origin: https://evil.example.com", 403},
		{"other port", local, "POST", "Origin: http://localhost:3000", 403},
		{"opaque origin", local, "POST", "Origin: null", 403},
		{"empty origin", local, "POST", "Origin: ", 403},
		{"same origin, capitals", local, "POST", "Host: LocalHost:1|Origin: http://LocalHost:1", 202},
		{"origin with a user", local, "POST", "Origin: http://user@HERE", 403},
		{"origin with a user and a password", local, "POST", "Origin: http://user:pass@HERE", 403},
		{"origin with an empty user", local, "POST", "Origin: http://@HERE", 403},
		{"origin with a path", local, "POST", "Origin: http://HERE/", 403},
		{"origin with a query", local, "POST", "Origin: http://HERE?", 403},
		{"origin with a fragment", local, "POST", "Origin: http://HERE#a", 403},
		{"extension", local, "POST", "Origin: chrome-extension://HERE", 403},
		{"allowed origin reads", named, "GET", "Origin: https://app.example.com|Sec-Fetch-Site: cross-site", 200},
		{"allowed origin writes", named, "POST", "Origin: https://app.example.com|Sec-Fetch-Site: cross-site", 202},
		{"allowed name, other scheme", named, "POST", "Origin: http://app.example.com", 403},
		{"allowed name as a beginning", named, "POST", "Origin: https://app.example.com.evil.com", 403},
		{"image or script", local, "GET", "Sec-Fetch-Site: cross-site", 403},
		{"form", local, "POST", "Sec-Fetch-Site: cross-site", 403},
		{"compressed body", local, "POST", "Content-Encoding: gzip", 415},
		{"body as it is", local, "POST", "Content-Encoding: identity", 202},
		{"other port on this machine", local, "GET", "Sec-Fetch-Site: same-site", 403},
		{"typed in", local, "GET", "Sec-Fetch-Site: none", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemory()
			url := serve(t, c.opts, store)
			path := "/v1/sessions"
			if c.method == "POST" {
				path = "/v1/sessions/s/interrupt"
			}
			var headers []string
			if c.headers != "" {
				here := strings.TrimPrefix(url, "http://")
				headers = strings.Split(strings.ReplaceAll(c.headers, "HERE", here), "|")
			}
			resp, body := do(t, c.method, url+path, "", headers...)
			if resp.StatusCode != c.status {
				t.Errorf("%s: got %d %s, want %d", c.name, resp.StatusCode, body, c.status)
			}
			if (len(store.inputs) > 0) != (c.status == 202) {
				t.Errorf("%s: got %v stored", c.name, store.inputs)
			}
			if allowed := resp.Header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != "https://app.example.com" {
				t.Errorf("%s: Access-Control-Allow-Origin: %q", c.name, allowed)
			}
		})
	}
	// The same checks apply to SSE and the page.
	url := serve(t, local, newMemory())
	for _, path := range []string{"/", "/v1/sessions/s/events", "/v1/login"} {
		method := "GET"
		if path == "/v1/login" {
			method = "POST"
		}
		for _, h := range []string{"Host: evil.example.com", "Origin: https://evil.example.com"} {
			if resp, body := do(t, method, url+path, "", h); resp.StatusCode != 403 {
				t.Errorf("%s with %s: got %d %s, want 403", path, h, resp.StatusCode, body)
			}
		}
	}
}

// TestPreflight checks the answers to OPTIONS requests.
func TestPreflight(t *testing.T) {
	url := serve(t, Options{Origins: []string{"https://app.example.com"}, Token: "0123456789abcdef"}, newMemory()) + "/v1/sessions/s/interrupt"
	resp, _ := do(t, "OPTIONS", url, "", "Origin: https://app.example.com", "Access-Control-Request-Method: POST")
	h := resp.Header
	if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		h.Get("Access-Control-Allow-Methods") != "POST, OPTIONS" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Idempotency-Key") ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Last-Event-ID") || !strings.Contains(h.Get("Access-Control-Expose-Headers"), headerFirst) ||
		h.Get("Access-Control-Allow-Credentials") != "true" || h.Get("Vary") != "Origin" {
		t.Errorf("allowed origin: got %d %v", resp.StatusCode, h)
	}
	if resp, _ := do(t, "OPTIONS", url, "", "Origin: https://evil.example.com"); resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("foreign origin: got %d %v, want 403", resp.StatusCode, resp.Header)
	}
}

// TestToken checks authentication by token and by cookie.
func TestToken(t *testing.T) {
	const token = "correct horse battery"
	var log bytes.Buffer
	g, err := New(Options{Token: token}, newMemory(), nil, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	url := serveHandler(t, g)
	login := func(body string, headers ...string) *http.Response {
		resp, _ := do(t, "POST", url+"/v1/login", body, headers...)
		return resp
	}
	resp := login(`{"token":"` + token + `"}`)
	cookie := resp.Header.Get("Set-Cookie")
	if resp.StatusCode != 204 || !strings.HasSuffix(cookie, "; Path=/; HttpOnly; SameSite=Strict") || strings.Contains(cookie, "horse") {
		t.Fatalf("login: got %d, Set-Cookie %q", resp.StatusCode, cookie)
	}
	if got := login(`{"token":"`+token+`"}`, "X-Forwarded-Proto: https").Header.Get("Set-Cookie"); !strings.Contains(got, "; Secure") {
		t.Errorf("login behind TLS: got Set-Cookie %q, want Secure", got)
	}
	for body, want := range map[string]int{`{"token":"wrong"}`: 401, `{}`: 401, `x`: 400, strings.Repeat(" ", 5000): 400} {
		if resp := login(body); resp.StatusCode != want || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("login %.20q: got %d, want %d", body, resp.StatusCode, want)
		}
	}
	value, _, _ := strings.Cut(cookie, ";")
	for _, c := range []struct {
		header string
		status int
	}{
		{"Authorization: Bearer " + token, 200},
		{"Authorization: bearer " + token, 200},
		{"Cookie: " + value, 200},
		{"Accept: */*", 401},
		{"Authorization: Bearer " + token + "x", 401},
		{"Authorization: Bearer ", 401},
		{"Authorization: Basic " + token, 401},
		{"Cookie: streamer=" + strings.Repeat("0", 64), 401},
		{"Cookie: streamer=", 401},
	} {
		t.Run(fmt.Sprintf("%.60s", c.header), func(t *testing.T) {
			resp, body := do(t, "GET", url+"/v1/sessions", "", c.header)
			if resp.StatusCode != c.status {
				t.Errorf("%s: got %d %s, want %d", c.header, resp.StatusCode, body, c.status)
			}
			if challenge := resp.Header.Get("WWW-Authenticate"); (challenge != "") != (c.status == 401) {
				t.Errorf("%s: WWW-Authenticate: got %q", c.header, challenge)
			}
		})
	}
	for _, path := range []string{"/v1/sessions/s/events", "/v1/sessions/s/events/1", "/v1/sessions/s/events/1/args"} {
		if resp, _ := do(t, "GET", url+path, ""); resp.StatusCode != 401 {
			t.Errorf("%s without a token: got %d, want 401", path, resp.StatusCode)
		}
	}
	if resp, _ := do(t, "POST", url+"/v1/sessions/s/interrupt", ""); resp.StatusCode != 401 {
		t.Errorf("interrupt without a token: got %d, want 401", resp.StatusCode)
	}
	for _, secret := range []string{"horse", strings.TrimPrefix(value, "streamer=")} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has the secret %q:\n%s", secret, &log)
		}
	}
}

// TestNewRefuses checks that invalid options are refused.
func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		opts Options
		text string
	}{
		{Options{Exposed: true}, "needs a token"},
		{Options{Proxies: []string{"proxy"}}, "is not an address or a network"},
		{Options{Token: "short"}, "fewer than 16"},
		{Options{Hosts: []string{"http://x"}}, "is not a host name"},
		{Options{Hosts: []string{"*"}}, "is not a host name"},
		{Options{Hosts: []string{""}}, "is not a host name"},
		{Options{Origins: []string{"app.example.com"}}, "not of the form"},
		{Options{Origins: []string{"https://app.example.com/"}}, "not of the form"},
		{Options{Origins: []string{"*"}}, "not of the form"},
		{Options{MaxBody: -1}, "leaves no space"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if _, err := New(c.opts, newMemory(), nil, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%+v: got %v, want an error with %q", c.opts, err, c.text)
			}
		})
	}
}
