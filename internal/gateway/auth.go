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

// key is the token clients must show. EventSource can send no header, so a
// page that knows the token trades it for a cookie; that holds a keyed digest
// and not the token itself. The zero key lets all in.
type auth struct {
	set    bool
	token  [sha256.Size]byte // digest, so that all comparisons take the same time
	cookie string
}

func newAuth(token string) auth {
	if token == "" {
		return auth{}
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("streamer gateway cookie 1"))
	return auth{set: true, token: sha256.Sum256([]byte(token)), cookie: hex.EncodeToString(mac.Sum(nil))}
}

func (k auth) check(w http.ResponseWriter, r *http.Request) error {
	if !k.set {
		return nil
	}
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, token, _ := strings.Cut(auth, " ")
		if strings.EqualFold(scheme, "Bearer") && k.matches(strings.TrimSpace(token)) {
			return nil
		}
	} else if c, err := r.Cookie(cookieName); err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(k.cookie)) == 1 {
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="streamer"`)
	return refuse(http.StatusUnauthorized, "a valid token is needed: Authorization: Bearer …, or the cookie of POST /v1/login")
}

func (k auth) matches(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], k.token[:]) == 1
}

// login sets the cookie for who knows the token. Where none is needed it
// sets none.
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
