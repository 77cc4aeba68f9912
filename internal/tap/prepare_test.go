package tap

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// sign signs a request for Bedrock.
func sign(t *testing.T, r *http.Request, c aws.Credentials, body string, at time.Time) {
	t.Helper()
	if err := v4.NewSigner().SignHTTP(t.Context(), c, r, hash(body), "bedrock", "eu-west-1", at); err != nil {
		t.Fatal(err)
	}
}

// TestSigV4: a signature for the host of the upstream passes unchanged, and one for the tap
// is refused, or made anew with credentials.
func TestSigV4(t *testing.T) {
	client := aws.Credentials{AccessKeyID: "AKIDCLIENT", SecretAccessKey: secretKey, SessionToken: secretKey + "-token"}
	own := aws.Credentials{AccessKeyID: "AKIDTAP", SecretAccessKey: secretKey + "-of-the-tap", SessionToken: secretKey + "-token-of-the-tap"}
	const body = `{"messages":[{"role":"user","content":[{"text":"weather?"}]}],"x":"` + secretBody + `"}`
	const path = "/model/us.anthropic.claude%3A0/converse"
	var got *http.Request
	var sent string
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got, sent = r, string(data)
	}))
	defer backend.Close()
	host := strings.TrimPrefix(backend.URL, "http://")
	front := func(t *testing.T, change func(*Options)) string {
		u, _, _ := open(t, http.NotFoundHandler(), func(o *Options) {
			up, err := ParseUpstream("bedrock=" + backend.URL)
			if err != nil {
				t.Fatal(err)
			}
			o.Upstreams = []Upstream{up}
			change(o)
		})
		return u + "/bedrock"
	}
	send := func(t *testing.T, base, signedHost string) (int, string, http.Header) {
		got = nil
		target := base + path
		if signedHost != "" { // the client signs the path of the upstream
			target = "http://" + signedHost + path
		}
		r, err := http.NewRequest(http.MethodPost, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		sign(t, r, client, body, time.Now())
		if r.URL, err = url.Parse(base + path); err != nil {
			t.Fatal(err)
		}
		r.Host = signedHost
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text), r.Header
	}
	// valid reports whether the upstream accepts the signature of the request that it got.
	valid := func(t *testing.T, c aws.Credentials) {
		t.Helper()
		if got == nil || sent != body {
			t.Fatalf("the upstream got %q", sent)
		}
		r, err := http.NewRequest(http.MethodPost, backend.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		header := got.Header.Get("Authorization")
		_, names, _ := strings.Cut(header, "SignedHeaders=")
		names, _, _ = strings.Cut(names, ",")
		for name := range strings.SplitSeq(names, ";") {
			if name != "host" && name != "content-length" {
				r.Header[http.CanonicalHeaderKey(name)] = got.Header.Values(name)
			}
		}
		at, err := time.Parse("20060102T150405Z", got.Header.Get("X-Amz-Date"))
		if err != nil {
			t.Fatal(err)
		}
		sign(t, r, c, body, at)
		if want := r.Header.Get("Authorization"); header != want {
			t.Errorf("the upstream got %s\nwant %s", header, want)
		}
	}
	t.Run("for the upstream", func(t *testing.T) {
		for _, repair := range []bool{false, true} {
			status, _, header := send(t, front(t, func(o *Options) { o.Repair = repair }), host)
			if status != 200 || got.Header.Get("Authorization") != header.Get("Authorization") || got.Header.Get("X-Amz-Date") != header.Get("X-Amz-Date") {
				t.Errorf("status %d, the upstream got %v", status, got)
			}
			valid(t, client)
		}
	})
	t.Run("for the tap", func(t *testing.T) {
		status, text, _ := send(t, front(t, func(*Options) {}), "")
		if status != 400 || !strings.Contains(text, "the request is signed for 127.0.0.1:") || !strings.Contains(text, "--tap-aws") || got != nil {
			t.Errorf("status %d %s", status, text)
		}
	})
	t.Run("for the tap, with credentials", func(t *testing.T) {
		status, text, _ := send(t, front(t, func(o *Options) { o.AWS = Static(own.AccessKeyID, own.SecretAccessKey, own.SessionToken) }), "")
		if status != 200 {
			t.Fatalf("status %d %s", status, text)
		}
		valid(t, own)
	})
}

// TestRepair: with Repair a history is repaired, which the answer says. What precedes the
// changes stays byte for byte, and a history without faults as a whole.
func TestRepair(t *testing.T) {
	const head = `{ "model":"m", "temperature":1.0e0,"messages":[ {"role":"system","content":"\u00e4 be brief"},{"role":"user","content":"weather?"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{ \"city\" : \"Oslo\" }"}}]}`
	const broken, sound = head + `,{"role":"user","content":"hello?"}],"tools":[]}`, head + `,{"role":"tool","tool_call_id":"call_1","content":"4 C"}],"tools":[]}`
	tests := []struct {
		name, path, body string
		repair, changes  bool
	}{
		{"broken", "/openai/v1/chat/completions", broken, true, true},
		{"sound", "/openai/v1/chat/completions", sound, true, false},
		{"off", "/openai/v1/chat/completions", broken, false, false},
		{"not a message", "/openai/v1/embeddings", broken, true, false},
		{"not JSON", "/openai/v1/chat/completions", "hello", true, false},
		{"empty", "/openai/v1/chat/completions", "", true, false},
	}
	for _, test := range tests {
		for _, chunked := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				var got string
				url, l, _ := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					data, err := io.ReadAll(r.Body)
					if err != nil || !chunked && r.ContentLength != int64(len(data)) {
						t.Errorf("%d bytes of %d, %v", len(data), r.ContentLength, err)
					}
					got = string(data)
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, chatText)
				}), func(o *Options) { o.Repair = test.repair })
				var src io.Reader = strings.NewReader(test.body)
				if chunked {
					src = io.MultiReader(src)
				}
				res, err := http.Post(url+test.path, "application/json", src)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if text, err := io.ReadAll(res.Body); err != nil || string(text) != chatText {
					t.Errorf("the client got %q, %v", text, err)
				}
				header := res.Header.Get(HeaderRepair)
				if !test.changes && (got != test.body || header != "") {
					t.Errorf("the upstream got %q; %q", got, header)
				}
				if test.changes && (!strings.HasPrefix(got, head) || !strings.Contains(got[len(head):], `"tool_call_id":"call_1"`) || !strings.Contains(header, "call_1")) {
					t.Errorf("the upstream got %q; %q", got, header)
				}
				_ = l
			})
		}
	}
}
