package gateway

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/auth"
	"streamer/internal/repair"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// operations returns method and pattern of each route of g.
func operations(g *Gateway) (list [][2]string) {
	for _, r := range g.routeList(prometheus.NewRegistry()) {
		for method := range strings.SplitSeq(r.methods, ", ") {
			list = append(list, [2]string{method, r.path})
		}
	}
	return list
}

// hostileSecret is a part of the credentials in the requests of the tests below, which
// neither a log nor an answer may have.
const hostileSecret = "SECRET0123456789"

// signedWith returns a token of all rights that key signs, with changed claims.
func signedWith(t *testing.T, alg jose.SignatureAlgorithm, key any, keyID string, changed jwt.Claims) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", keyID))
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.Claims{Issuer: "i", Audience: jwt.Audience{"streamer"}, Subject: hostileSecret, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}
	if changed.Issuer != "" {
		claims.Issuer = changed.Issuer
	}
	if changed.Audience != nil {
		claims.Audience = changed.Audience
	}
	if changed.Expiry != nil {
		claims.Expiry = changed.Expiry
	}
	claims.NotBefore = changed.NotBefore
	token, err := jwt.Signed(s).Claims(claims).Claims(map[string]any{"streamer": jsonText(everything)}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// hostileTokens returns tokens that no gateway with the issuer of withKey may accept.
func hostileTokens(t *testing.T, key *rsa.PrivateKey, pemKey []byte) map[string]string {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := strings.Split(signedWith(t, jose.RS256, key, "1", jwt.Claims{}), ".")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return map[string]string{
		"alg none":               header(`{"alg":"none"}`) + "." + good[1] + ".",
		"alg None, signed":       header(`{"alg":"None","kid":"1"}`) + "." + good[1] + "." + good[2],
		"the public key as HMAC": signedWith(t, jose.HS256, pemKey, "1", jwt.Claims{}),
		"another key":            signedWith(t, jose.RS256, other, "1", jwt.Claims{}),
		"kid is a path":          signedWith(t, jose.RS256, other, "../../../../dev/null", jwt.Claims{}),
		"kid is SQL":             signedWith(t, jose.RS256, other, "x' UNION SELECT '1", jwt.Claims{}),
		"kid is a URL":           signedWith(t, jose.RS256, other, "http://127.0.0.1:1/key", jwt.Claims{}),
		"kid is huge":            signedWith(t, jose.RS256, other, strings.Repeat("k", 8<<10), jwt.Claims{}),
		"expired":                signedWith(t, jose.RS256, key, "1", jwt.Claims{Expiry: jwt.NewNumericDate(time.Now().Add(-time.Minute))}),
		"not valid yet":          signedWith(t, jose.RS256, key, "1", jwt.Claims{NotBefore: jwt.NewNumericDate(time.Now().Add(time.Hour))}),
		"another audience":       signedWith(t, jose.RS256, key, "1", jwt.Claims{Audience: jwt.Audience{"other"}}),
		"another issuer":         signedWith(t, jose.RS256, key, "1", jwt.Claims{Issuer: "https://evil.example.com"}),
		"no signature":           good[0] + "." + good[1] + ".",
		"another signature":      good[0] + "." + good[1] + "." + header("x"),
		"huge":                   strings.Repeat("a", 10<<10),
		"a secret":               hostileSecret,
		"empty":                  "",
	}
}

// withKey returns the options of a gateway that accepts tokens of a new RSA key, the key
// and its public half in PEM.
func withKey(t *testing.T) (Options, *rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pemKey, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := auth.New(t.Context(), []auth.Issuer{{Name: "i", Audience: "streamer", PublicKeyFile: path, Claim: "streamer"}}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return Options{Exposed: true, Token: hostileSecret + " token", Verify: v.Verify, Repairs: &repair.Service{}}, key, pemKey
}

// public reports whether a route needs no token.
func public(path string) bool {
	switch path {
	case "/", "/healthz", "/readyz", "/v1/login", "/v1/openapi.json", "/v1/events.schema.json":
		return true
	}
	return false
}

// TestHostileRoutes sends each kind of hostile request to every route. Each is refused
// before a handler reads or stores something, and neither the log nor the answer has a
// part of a token.
func TestHostileRoutes(t *testing.T) {
	opts, key, pemKey := withKey(t)
	var log bytes.Buffer
	store := newMemory()
	store.some("s", 1)
	g, err := New(opts, store, nil, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	tokens := hostileTokens(t, key, pemKey)
	good := "Authorization: Bearer " + signedWith(t, jose.RS256, key, "1", jwt.Claims{})
	log.Reset()
	url := serveHandler(t, g)
	for _, o := range operations(g) {
		method, path := o[0], fillPath(o[1])
		if path == manySessions {
			path += "?session=s"
		}
		open := path == "/healthz" || path == "/readyz" // they check nothing
		try := func(name string, want string, headers ...string) {
			t.Helper()
			resp, body := do(t, method, url+path, "", headers...)
			if status := itoa(resp.StatusCode); !strings.Contains(want, status) {
				t.Errorf("%s: %s %s: got %s %s, want %s", name, method, path, status, body, want)
			}
			if strings.Contains(body, hostileSecret) {
				t.Errorf("%s: %s %s: the answer has a secret: %s", name, method, path, body)
			}
			if resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %s %s: the answer is readable by other origins", name, method, path)
			}
		}
		if !open {
			for _, host := range []string{"evil.example.com", "localhost.evil.example.com", "localhost@evil.example.com", "127.0.0.1.nip.io", "evil.example.com:80"} {
				try("host "+host, "403 400", good, "Host: "+host)
			}
			for _, origin := range []string{"https://evil.example.com", "null", "http://localhost.evil.example.com", "http://user@localhost", "file://", "http://localhost:1, http://localhost", "*"} {
				try("origin "+origin, "403", good, "Origin: "+origin)
			}
		}
		if strings.HasPrefix(path, "/v1/") {
			try("another site", "403", good, "Sec-Fetch-Site: cross-site")
			try("a sibling site", "403", good, "Sec-Fetch-Site: same-site")
		}
		if !public(o[1]) {
			for name, token := range tokens {
				try(name, "401", "Authorization: Bearer "+token)
			}
			try("cookie of a token", "401", "Cookie: streamer="+tokens["another key"])
			try("many cookies", "401", "Cookie: "+strings.Repeat("streamer="+hostileSecret+"; ", 200))
			try("cookie of another name", "401", "Cookie: __Host-streamer="+opts.Token)
			try("the token as a cookie", "401", "Cookie: streamer="+hostileSecret)
			try("basic", "401", "Authorization: Basic "+hostileSecret)
		}
	}
	if n := len(store.stored()); n > 0 {
		t.Errorf("%d inputs are stored", n)
	}
	for _, token := range tokens {
		for part := range strings.SplitSeq(token, ".") {
			if len(part) > 10 && strings.Contains(log.String(), part) {
				t.Errorf("the log has a part of a token: %.80s", part)
			}
		}
	}
	if strings.Contains(log.String(), hostileSecret) {
		t.Error("the log has a secret")
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 2000 {
			t.Errorf("the log has a line of %d bytes: %.200s", len(line), line)
		}
	}
}

// sendLine sends a request line, which no client checks, with the token, and {} as the
// body of inputs.
func sendLine(t *testing.T, address, line string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := ""
	if strings.HasPrefix(line, "P") && strings.Contains(line, "/v1/sessions/") {
		body = "{}"
	}
	if strings.HasSuffix(line, "/answer") {
		body = `{"call":"1.0","decision":"approve"}`
	}
	_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", line, hostileSecret, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(line, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.100s: %v", line, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%.100s: %v", line, err)
	}
	return resp, string(text)
}

// hostileSessions are elements of a path, and the statuses of which each route with a
// session answers one to a client with all rights: that of another session, or a
// refusal.
func hostileSessions() map[string]string {
	return map[string]string{
		strings.Repeat("x", 257):              "400",
		strings.Repeat("%C3%BC", 43):          "400", // 258 bytes as a token
		strings.Repeat("%00", 100):            "400",
		"%FF":                                 "400",
		"%C0%AF":                              "400", // an overlong /
		"%ED%A0%80":                           "400", // half a surrogate pair
		"%zz":                                 "400",
		"%":                                   "400",
		"":                                    "404 405",
		"a%2F..%2Fs":                          "other",
		"..%2Fs":                              "other",
		"%2E%2E":                              "other",
		"%00":                                 "other",
		"s%00":                                "other",
		"s%2Fevents%2F1":                      "other",
		"s;a=b":                               "other",
		"s%0D%0AX-Injected:%20yes":            "other",
		"%3Cscript%3E":                        "other",
		"%E2%80%AEs":                          "other", // writes from right to left
		"_llm.%3E":                            "other",
		"*":                                   "other",
		"%3E":                                 "other",
		"s%20":                                "other",
		"S":                                   "other",
		"%EF%BD%93":                           "other", // a wide s
		strings.Repeat("a", 256):              "other",
		strings.Repeat("%2F", 256/len("=2F")): "other",
	}
}

// TestHostileSessions sends unusual names of sessions to every route. None reads an
// event of the session s, or stores an input for it.
func TestHostileSessions(t *testing.T) {
	store := newMemory()
	store.add("s", "tool_call_args_complete", `{"type":"tool_call_args_complete","args_text":"`+hostileSecret+`"}`)
	g := build(t, Options{Token: hostileSecret, Repairs: &repair.Service{}}, store)
	url := serveHandler(t, g)
	for name, want := range hostileSessions() {
		for _, o := range operations(g) {
			if !strings.Contains(o[1], "{session}") {
				continue
			}
			method, path := o[0], fillPath(strings.Replace(o[1], "{session}", "\n", 1))
			if method == "GET" {
				method = "HEAD" // which ends a stream
			}
			path = strings.Replace(path, "\n", name, 1)
			resp, body := sendLine(t, strings.TrimPrefix(url, "http://"), method+" "+path)
			if want != "other" && !strings.Contains(want, itoa(resp.StatusCode)) || resp.StatusCode >= 500 || resp.Header.Get("X-Injected") != "" {
				t.Errorf("%s %.100s: got %d %v %s, want %s", method, path, resp.StatusCode, resp.Header, body, want)
			}
			if strings.Contains(body, hostileSecret) || resp.ContentLength > 500 && method == "HEAD" {
				t.Errorf("%s %.100s: got an event of another session: %s", method, path, body)
			}
		}
	}
	for _, in := range store.inputs {
		if in.token == "s" || len(in.token) > 256 || strings.ContainsAny(in.token, ".*> \x00\r\n/") {
			t.Errorf("stored an input for the token %q", in.token)
		}
	}
}
