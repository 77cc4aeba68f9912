package tap

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestBrowser: a browser gets no page of an upstream that could act for the gateway. A page
// of the gateway itself may fetch.
func TestBrowser(t *testing.T) {
	var cookies []string
	address, _, _ := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies = r.Header["Cookie"]
		h := w.Header()
		h["Set-Cookie"] = []string{"streamer=" + secretCookie + "; Path=/", "other=1", "__Host-streamer=" + secretCookie}
		h.Set("Clear-Site-Data", `"cookies"`)
		if kind := r.URL.Query().Get("type"); kind != "" {
			h.Set("Content-Type", kind)
		} else {
			h["Content-Type"] = nil
		}
		_, _ = io.WriteString(w, "<title>a page</title>")
	}), nil)
	tests := []struct {
		method, kind, dest string
		status             int
		confined           bool
	}{
		{"GET", "text/html", "document", http.StatusForbidden, false},
		{"GET", "text/html", "iframe", http.StatusForbidden, false},
		{"GET", "text/javascript", "script", http.StatusForbidden, false},
		{"POST", "application/json", "document", http.StatusForbidden, false},
		{"GET", "text/html; charset=utf-8", "", http.StatusOK, true},
		{"GET", "image/svg+xml", "empty", http.StatusOK, true},
		{"GET", "", "", http.StatusOK, true},
		{"POST", "text/html", "", http.StatusOK, true},
		{"POST", "", "", http.StatusOK, false},
		{"POST", "application/json; charset=utf-8", "empty", http.StatusOK, false},
		{"POST", "text/event-stream", "", http.StatusOK, false},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.kind+" "+test.dest, func(t *testing.T) {
			cookies = nil
			req, err := http.NewRequestWithContext(t.Context(), test.method, address+"/openai/page?type="+url.QueryEscape(test.kind), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Cookie", "a=1; streamer="+secretCookie+"; streamer2=2")
			if test.dest != "" {
				req.Header.Set("Sec-Fetch-Dest", test.dest)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != test.status {
				t.Fatalf("status %d, %v: %s", res.StatusCode, err, body)
			}
			confined := res.Header.Get("Content-Security-Policy") == "sandbox" && res.Header.Get("X-Content-Type-Options") == "nosniff"
			if confined != test.confined || res.Header.Get("Clear-Site-Data") != "" {
				t.Errorf("the header is %v", res.Header)
			}
			if test.status != http.StatusOK {
				if cookies != nil || !strings.Contains(string(body), "Sec-Fetch-Dest: "+test.dest) {
					t.Errorf("the upstream got a request, or the reason is missing: %s", body)
				}
				return
			}
			if set := res.Header["Set-Cookie"]; !slices.Equal(set, []string{"other=1"}) {
				t.Errorf("the upstream sets %q", set)
			}
			if !slices.Equal(cookies, []string{"a=1; streamer2=2"}) {
				t.Errorf("the upstream got the cookies %q", cookies)
			}
		})
	}
}
