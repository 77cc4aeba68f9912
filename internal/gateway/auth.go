package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"streamer/internal/auth"
	"streamer/internal/gateway/respond"
	"streamer/internal/tap"
)

const (
	cookieName = tap.Cookie
	// secureCookieName is the name of the cookie behind TLS. Browsers accept a
	// cookie with this prefix only from this host, so no other host can set it.
	secureCookieName = tap.SecureCookie

	maxLogin  = 16 << 10 // maximum size of the body of a login
	maxCookie = 3800     // maximum length of a token in a cookie: browsers ignore cookies above 4 KiB
)

// verifier verifies a JSON Web Token. The error is auth.ErrInvalid or
// auth.ErrUnavailable.
type verifier func(ctx context.Context, token string) (*auth.Identity, error)

// credentials checks what a client sends to authenticate: the token, or a JSON Web
// Token. EventSource cannot send headers, so a page exchanges either for a cookie. The
// cookie for the token contains a keyed digest and not the token. The zero value
// accepts every request.
type credentials struct {
	token   secret // permits everything
	metrics secret // permits to read the metrics
	cookie  string
	verify  verifier // nil if JSON Web Tokens are not accepted
}

// secret is a token that was configured. The zero value is none.
type secret struct {
	set    bool
	digest [sha256.Size]byte // so that comparisons take constant time
}

func newSecret(token string) secret { return secret{token != "", sha256.Sum256([]byte(token))} }

func (s *secret) is(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return s.set && subtle.ConstantTimeCompare(sum[:], s.digest[:]) == 1
}

// newCredentials returns the check for the token, for that of the metrics, and for the
// tokens that verify accepts. All are optional.
func newCredentials(token, metrics string, verify verifier) credentials {
	c := credentials{token: newSecret(token), metrics: newSecret(metrics), verify: verify}
	if token != "" {
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write([]byte("streamer gateway cookie 1"))
		c.cookie = hex.EncodeToString(mac.Sum(nil))
	}
	return c
}

func (c *credentials) required() bool { return c.token.set || c.verify != nil }

// check returns the client that sent a request. It refuses a request without valid
// credentials.
func (c *credentials) check(w http.ResponseWriter, r *http.Request) (*auth.Identity, error) {
	if !c.required() {
		return auth.Unlimited(), nil
	}
	switch headers := r.Header.Values("Authorization"); {
	case len(headers) > 1:
		return nil, respond.Refuse(http.StatusBadRequest, "more than one Authorization")
	case len(headers) == 1 && headers[0] != "":
		scheme, token, _ := strings.Cut(headers[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, challenge(w, "")
		}
		return c.bearer(w, r, strings.TrimSpace(token))
	}
	cookie, err := r.Cookie(nameOfCookie(r))
	if err != nil {
		return nil, challenge(w, "")
	}
	if c.token.set && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(c.cookie)) == 1 {
		return auth.Unlimited(), nil
	}
	return c.web(w, r, cookie.Value)
}

// bearer returns the bearer of a token of either kind.
func (c *credentials) bearer(w http.ResponseWriter, r *http.Request, token string) (*auth.Identity, error) {
	switch {
	case c.token.is(token):
		return auth.Unlimited(), nil
	case r.URL.Path == metricsPath && c.metrics.is(token): // it is unknown elsewhere
		return auth.Only(auth.Metrics), nil
	}
	return c.web(w, r, token)
}

func (c *credentials) web(w http.ResponseWriter, r *http.Request, token string) (*auth.Identity, error) {
	if c.verify == nil {
		return nil, challenge(w, auth.ErrInvalid.Error())
	}
	id, err := c.verify(r.Context(), token)
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, auth.ErrInvalid):
		return nil, challenge(w, err.Error())
	}
	w.Header().Set("Retry-After", "10")
	return nil, respond.Refuse(http.StatusServiceUnavailable, auth.ErrUnavailable.Error()+"; try again")
}

// challenge returns the refusal of a request without valid credentials, with the
// header of RFC 6750. why is "" if the request has none.
func challenge(w http.ResponseWriter, why string) error {
	header, text := `Bearer realm="streamer"`, "a token is required"
	if why != "" {
		header, text = fmt.Sprintf(`%s, error="invalid_token", error_description=%q`, header, strings.ReplaceAll(why, `"`, "'")), why
	}
	w.Header().Set("WWW-Authenticate", header)
	return respond.Refuse(http.StatusUnauthorized, text+": send Authorization: Bearer …, or the cookie of POST /v1/login")
}

// login sets the cookie if the body has a valid token. Without authentication it
// sets none.
func (g *Gateway) login(w http.ResponseWriter, r *http.Request) error {
	if !g.credentials.required() {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLogin))
	if err != nil {
		return respond.Refuse(http.StatusBadRequest, "the body cannot be read")
	}
	var in struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return respond.Refuse(http.StatusBadRequest, `the body is not {"token":"…"}`)
	}
	id, err := g.credentials.bearer(w, r, in.Token)
	if err != nil {
		return err
	}
	value := in.Token
	if g.credentials.token.is(in.Token) {
		value = g.credentials.cookie
	}
	if len(value) > maxCookie {
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the token has more than %d bytes, which is too long for a cookie", maxCookie))
	}
	http.SetCookie(w, &http.Cookie{
		Name: nameOfCookie(r), Value: value, Path: "/", Expires: id.Expires,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure(r),
	})
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// secure reports whether the client's connection is TLS, here or at a proxy.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func nameOfCookie(r *http.Request) string {
	if secure(r) {
		return secureCookieName
	}
	return cookieName
}
