package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"
)

// published is a key set that a test replaces. A read returns err if it is set.
type published struct {
	text  []byte
	err   error
	reads int
}

// set returns a key set that reads p.
func (p *published) set() *keySet {
	return &keySet{
		remote: true, every: urlEvery, retry: urlRetry, parse: parsePublicJWKS, log: zerolog.Nop(),
		read: func(context.Context) ([]byte, error) {
			p.reads++
			return p.text, p.err
		},
	}
}

// TestRotation: a token with a new key is accepted at once, a removed key is refused
// after the next read, and unknown keys do not cause more reads than one per interval.
func TestRotation(t *testing.T) {
	k := newKeys(t)
	one := jose.JSONWebKey{Key: k.rsa.Public(), KeyID: "1"}
	two := jose.JSONWebKey{Key: k.ec[jose.ES256].Public(), KeyID: "2"}
	synctest.Test(t, func(t *testing.T) {
		p := &published{text: jwks(t, one)}
		v := &Verifier{map[string]*issuer{testIssuer: {Issuer{Name: testIssuer, Audience: testAudience}, p.set()}}}
		want := func(step string, alg jose.SignatureAlgorithm, id string, wantErr error, reads int) {
			t.Helper()
			_, err := v.Verify(t.Context(), sign(t, alg, k.private(alg), id, valid(nil)))
			if !errors.Is(err, wantErr) || p.reads != reads {
				t.Errorf("%s: got %v and %d reads, want %v and %d", step, err, p.reads, wantErr, reads)
			}
		}
		want("first key", jose.RS256, "1", nil, 1)
		time.Sleep(urlRetry)
		p.text = jwks(t, one, two)
		want("second key", jose.ES256, "2", nil, 2)
		want("first key, still", jose.RS256, "1", nil, 2)
		for range 100 {
			want("unknown key", jose.ES384, "3", ErrInvalid, 2)
		}
		p.text = jwks(t, two)
		time.Sleep(urlEvery)
		want("removed key", jose.RS256, "1", ErrInvalid, 3)
		p.err = errors.New("unreachable")
		time.Sleep(urlEvery)
		want("unreachable", jose.ES256, "2", nil, 4)
		p.err, p.text = nil, []byte("<html>")
		time.Sleep(urlEvery)
		want("not a key set", jose.ES256, "2", nil, 5)
	})
}

// TestUnreachable: before the first successful read, tokens get ErrUnavailable, with
// at most one read per interval.
func TestUnreachable(t *testing.T) {
	k := newKeys(t)
	synctest.Test(t, func(t *testing.T) {
		p := &published{err: errors.New("unreachable")}
		v := &Verifier{map[string]*issuer{testIssuer: {Issuer{Name: testIssuer, Audience: testAudience}, p.set()}}}
		token := sign(t, jose.RS256, k.rsa, "1", valid(nil))
		for range 10 {
			if _, err := v.Verify(t.Context(), token); !errors.Is(err, ErrUnavailable) {
				t.Errorf("got %v, want ErrUnavailable", err)
			}
		}
		if p.reads != 1 {
			t.Errorf("got %d reads, want 1", p.reads)
		}
		time.Sleep(urlRetry)
		p.err, p.text = nil, jwks(t, jose.JSONWebKey{Key: k.rsa.Public(), KeyID: "1"})
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Errorf("reachable again: %v", err)
		}
	})
}

// TestURL: keys are read from a URL. Secrets in them, endless answers, errors and
// redirects to another scheme are refused.
func TestURL(t *testing.T) {
	k := newKeys(t)
	var answer atomic.Pointer[http.HandlerFunc]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) }))
	defer srv.Close()
	serve := func(t *testing.T, h http.HandlerFunc) *Verifier {
		t.Helper()
		answer.Store(&h)
		return verifierOf(t, Issuer{JWKS: srv.URL + "/keys"})
	}
	secret := jose.JSONWebKey{Key: []byte(testSecret), KeyID: "s"}
	v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(jwks(t, jose.JSONWebKey{Key: k.rsa.Public(), KeyID: "1"}, secret))
	})
	if _, err := v.Verify(t.Context(), sign(t, jose.RS256, k.rsa, "1", valid(nil))); err != nil {
		t.Errorf("published key: %v", err)
	}
	if _, err := v.Verify(t.Context(), sign(t, jose.HS256, []byte(testSecret), "s", valid(nil))); !errors.Is(err, ErrInvalid) {
		t.Errorf("published secret: got %v, want ErrInvalid", err)
	}
	for name, h := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/keys", http.StatusFound)
		},
		"redirect loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := serve(t, h).Verify(t.Context(), sign(t, jose.RS256, k.rsa, "1", valid(nil))); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: got %v, want ErrUnavailable", name, err)
			}
		})
	}
}

// TestFileRotation: a key file that is replaced is read again.
func TestFileRotation(t *testing.T) {
	path := write(t, "secret", []byte(testSecret))
	is := Issuer{Name: testIssuer, Audience: testAudience, Claim: "streamer", SecretFile: path}
	synctest.Test(t, func(t *testing.T) {
		v, err := New(t.Context(), []Issuer{is}, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		const other = "ffffffffffffffffffffffffffffffff"
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(fileEvery)
		for secret, want := range map[string]error{testSecret: ErrInvalid, other: nil} {
			if _, err := v.Verify(t.Context(), sign(t, jose.HS256, []byte(secret), "", valid(nil))); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", secret, err, want)
			}
		}
	})
}
