package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

const cookieName = "streamer"

// auth checks the token. EventSource cannot send headers, so a page exchanges the
// token for a cookie. The cookie contains a keyed digest and not the token. The
// zero value accepts every request.
type auth struct {
	set    bool
	token  [sha256.Size]byte // digest, so that comparisons take constant time
	cookie string
}

// newAuth returns the check for a token.
func newAuth(token string) auth {
	if token == "" {
		return auth{}
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("streamer gateway cookie 1"))
	return auth{set: true, token: sha256.Sum256([]byte(token)), cookie: hex.EncodeToString(mac.Sum(nil))}
}

// check refuses a request without the token or the cookie.
func (a auth) check(w http.ResponseWriter, r *http.Request) error {
	if !a.set {
		return nil
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") && a.matches(strings.TrimSpace(token)) {
			return nil
		}
	} else if c, err := r.Cookie(cookieName); err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(a.cookie)) == 1 {
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="streamer"`)
	return refuse(http.StatusUnauthorized, "a valid token is required: Authorization: Bearer …, or the cookie of POST /v1/login")
}

// matches reports whether a token is the right one.
func (a auth) matches(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
}

// login sets the cookie if the body has the token. Without authentication it sets
// none.
func (g *Gateway) login(w http.ResponseWriter, r *http.Request) error {
	if !g.auth.set {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<10))
	if err != nil {
		return refuse(http.StatusBadRequest, "the body cannot be read")
	}
	var in struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return refuse(http.StatusBadRequest, `the body is not {"token":"…"}`)
	}
	if !g.auth.matches(in.Token) {
		return refuse(http.StatusUnauthorized, "the token is not valid")
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: g.auth.cookie, Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	w.WriteHeader(http.StatusNoContent)
	return nil
}
