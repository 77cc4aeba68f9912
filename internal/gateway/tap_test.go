package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"
)

// TestTap: beyond loopback a request to the tap needs a token of its own, and its
// Authorization is for the upstream. Pages of other origins are refused.
func TestTap(t *testing.T) {
	const secret = "0123456789abcdef"
	exposed := Options{Exposed: true, Token: secret}
	for _, c := range []struct {
		name    string
		opts    Options
		headers []string
		status  int
	}{
		{"on loopback", Options{}, nil, http.StatusTeapot},
		{"a key of the upstream only", exposed, []string{"Authorization", "Bearer " + secret}, http.StatusUnauthorized},
		{"a token", exposed, []string{"Authorization", "Bearer key", "Streamer-Token", secret}, http.StatusTeapot},
		{"a wrong token", exposed, []string{"Streamer-Token", "fedcba9876543210"}, http.StatusUnauthorized},
		{"a foreign page", Options{}, []string{"Origin", "https://evil.example.com"}, http.StatusForbidden},
		{"an image in a foreign page", Options{}, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"a rebound name", Options{}, []string{"Host", "evil.example.com"}, http.StatusForbidden},
		{"only health", Options{OnlyHealth: true}, nil, http.StatusNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Tap = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got == "Bearer "+secret {
					t.Errorf("the tap gets %q", got)
				}
				w.WriteHeader(http.StatusTeapot)
			})
			g, err := New(c.opts, &memory{}, nil, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/tap/openai/v1/responses", http.NoBody)
			for i := 0; i < len(c.headers); i += 2 {
				if r.Header.Set(c.headers[i], c.headers[i+1]); c.headers[i] == "Host" {
					r.Host = c.headers[i+1]
				}
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.status)
			}
			if c.status == http.StatusTeapot && len(w.Header()) > 0 {
				t.Errorf("the answer has the headers %v", w.Header())
			}
		})
	}
}
