package auth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/rs/zerolog"
)

const (
	testIssuer   = "https://login.example.com/"
	testAudience = "streamer"
	testSecret   = "0123456789abcdef0123456789abcdef"
)

// claims are the claims of a token.
type claims map[string]any

// valid returns claims that are accepted, with changes. A nil value removes a claim.
func valid(changes claims) claims {
	c := claims{
		"iss": testIssuer, "aud": testAudience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(),
		"streamer": claims{"watch": []any{"s"}},
	}
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

// sign returns a token.
func sign(t testing.TB, alg jose.SignatureAlgorithm, key any, id string, c claims) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		o = o.WithHeader("kid", id)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(map[string]any(c)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// write writes a file of a test and returns its name.
func write(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// verifierOf returns a verifier of one issuer.
func verifierOf(t testing.TB, is Issuer) *Verifier {
	t.Helper()
	is.Name, is.Audience, is.Claim = testIssuer, testAudience, "streamer"
	v, err := New(t.Context(), []Issuer{is}, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// withSecret returns a verifier with an HMAC secret.
func withSecret(t testing.TB) *Verifier {
	t.Helper()
	return verifierOf(t, Issuer{SecretFile: write(t, "secret", []byte(testSecret+"\n"))})
}

// jwks returns a key set with the public halves of keys.
func jwks(t testing.TB, keys ...jose.JSONWebKey) []byte {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// keys are private keys of each kind.
type keys struct {
	rsa *rsa.PrivateKey
	ec  map[jose.SignatureAlgorithm]*ecdsa.PrivateKey
	ed  ed25519.PrivateKey
}

func newKeys(t testing.TB) keys {
	t.Helper()
	k := keys{ec: map[jose.SignatureAlgorithm]*ecdsa.PrivateKey{}}
	var err error
	if k.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	for alg, curve := range map[jose.SignatureAlgorithm]elliptic.Curve{jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521()} {
		if k.ec[alg], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	if _, k.ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	return k
}

// private returns the key that signs with an algorithm.
func (k keys) private(alg jose.SignatureAlgorithm) any {
	switch alg[:2] {
	case "HS":
		return []byte(strings.Repeat(testSecret, 2))
	case "RS", "PS":
		return k.rsa
	case "ES":
		return k.ec[alg]
	}
	return k.ed
}

// public returns the key that verifies a private one.
func public(key any) any {
	if p, ok := key.(interface{ Public() crypto.PublicKey }); ok {
		return p.Public()
	}
	return key
}

// TestAlgorithms: tokens of every algorithm are accepted with a key set, with and
// without a key id, and the identity has the claims.
func TestAlgorithms(t *testing.T) {
	k := newKeys(t)
	for _, alg := range algorithms() {
		key := k.private(alg)
		v := verifierOf(t, Issuer{JWKS: write(t, "keys.json", jwks(t, jose.JSONWebKey{Key: public(key), KeyID: "1", Use: "sig"}))})
		for _, id := range []string{"", "1"} {
			got, err := v.Verify(t.Context(), sign(t, alg, key, id, valid(nil)))
			if err != nil {
				t.Errorf("%s, key id %q: %v", alg, id, err)
				continue
			}
			if got.Name != testIssuer+"\nalice" || got.Expires.Before(time.Now().Add(time.Minute)) || !got.May(Watch, "s") || got.May(Publish, "s") {
				t.Errorf("%s: got %+v", alg, got)
			}
		}
		if _, err := v.Verify(t.Context(), sign(t, alg, key, "2", valid(nil))); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s with an unknown key id: got %v, want ErrInvalid", alg, err)
		}
	}
}

// TestPEM: public keys and certificates in a PEM file verify tokens.
func TestPEM(t *testing.T) {
	k := newKeys(t)
	var text []byte
	for _, key := range []any{k.rsa.Public(), k.ec[jose.ES256].Public(), k.ed.Public()} {
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)
	}
	v := verifierOf(t, Issuer{PublicKeyFile: write(t, "keys.pem", text)})
	for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.PS512, jose.ES256, jose.EdDSA} {
		if _, err := v.Verify(t.Context(), sign(t, alg, k.private(alg), "", valid(nil))); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
	}
}

// TestClaims checks which claims are refused, and with which reason.
func TestClaims(t *testing.T) {
	v := withSecret(t)
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for _, c := range []struct {
		name    string
		changes claims
		want    string // part of the error; "" for none
	}{
		{"valid", nil, ""},
		{"several audiences", claims{"aud": []string{"other", testAudience}}, ""},
		{"not before, within the leeway", claims{"nbf": in(10 * time.Second)}, ""},
		{"no subject", claims{"sub": nil}, ""},
		{"no rights", claims{"streamer": nil}, ""},
		{"expired", claims{"exp": in(-time.Second)}, "has expired"},
		{"expired long ago", claims{"exp": 0}, "has expired"},
		{"no expiry", claims{"exp": nil}, "has no exp"},
		{"expiry is a text", claims{"exp": "tomorrow"}, "cannot be read"},
		{"expiry beyond all times", claims{"exp": 1e300}, "not valid"},
		{"other audience", claims{"aud": "other"}, "another audience"},
		{"no audience", claims{"aud": nil}, "another audience"},
		{"part of the audience", claims{"aud": "stream"}, "another audience"},
		{"other issuer", claims{"iss": "https://evil.example.com/"}, "issuer is not accepted"},
		{"no issuer", claims{"iss": nil}, "issuer is not accepted"},
		{"issuer in capitals", claims{"iss": strings.ToUpper(testIssuer)}, "issuer is not accepted"},
		{"not valid yet", claims{"nbf": in(time.Minute)}, "not valid yet"},
		{"issued in the future", claims{"iat": in(time.Minute)}, "in the future"},
		{"rights are a text", claims{"streamer": "*"}, "not an object"},
		{"rights are numbers", claims{"streamer": claims{"watch": []any{1}}}, "not an object"},
		{"misspelt right", claims{"streamer": claims{"wach": []any{"s"}}}, "other than watch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := v.Verify(t.Context(), sign(t, jose.HS256, []byte(testSecret), "", valid(c.changes)))
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			}
		})
	}
}

// forged returns a token with a header and claims and a signature of any bytes.
func forged(header string, c claims, signature []byte) string {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err) // the claims are constants of a test
	}
	e := base64.RawURLEncoding
	return e.EncodeToString([]byte(header)) + "." + e.EncodeToString(body) + "." + e.EncodeToString(signature)
}

// TestForged: tokens that no key of the issuer signed are refused.
func TestForged(t *testing.T) {
	k := newKeys(t)
	rsaPEM, err := x509.MarshalPKIXPublicKey(k.rsa.Public())
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: rsaPEM})
	set := jwks(t, jose.JSONWebKey{Key: k.rsa.Public(), KeyID: "1"}, jose.JSONWebKey{Key: k.ec[jose.ES256].Public(), KeyID: "2", Algorithm: "ES256"})
	v := verifierOf(t, Issuer{JWKS: write(t, "keys.json", set)})
	other := newKeys(t)
	good := sign(t, jose.RS256, k.rsa, "1", valid(nil))
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: other.rsa}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	withKey, err := jwt.Signed(embedded).Claims(map[string]any(valid(nil))).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"empty":                         "",
		"text":                          "token",
		"dots":                          "...",
		"alg none":                      forged(`{"alg":"none"}`, valid(nil), nil),
		"alg None":                      forged(`{"alg":"None"}`, valid(nil), nil),
		"alg none with a signature":     forged(`{"alg":"none"}`, valid(nil), []byte("x")),
		"no alg":                        forged(`{"typ":"JWT"}`, valid(nil), nil),
		"empty signature":               parts[0] + "." + parts[1] + ".",
		"no signature":                  parts[0] + "." + parts[1],
		"signature of other claims":     parts[0] + "." + strings.Split(sign(t, jose.RS256, k.rsa, "1", valid(claims{"sub": "bob"})), ".")[1] + "." + parts[2],
		"HMAC with the public key, PEM": sign(t, jose.HS256, asPEM, "1", valid(nil)),
		"HMAC with the public key, DER": sign(t, jose.HS256, rsaPEM, "1", valid(nil)),
		"HMAC with the modulus":         sign(t, jose.HS256, k.rsa.N.Bytes(), "1", valid(nil)),
		"HMAC with the key set":         sign(t, jose.HS512, set, "", valid(nil)),
		"key of another party":          sign(t, jose.RS256, other.rsa, "1", valid(nil)),
		"key in the header":             withKey,
		"other kind than the key id's":  sign(t, jose.EdDSA, other.ed, "1", valid(nil)),
		"ECDSA for an RSA key":          sign(t, jose.ES256, other.ec[jose.ES256], "1", valid(nil)),
		"critical header":               forged(`{"alg":"RS256","kid":"1","crit":["x"],"x":1}`, valid(nil), []byte("x")),
		"zero ECDSA signature":          forged(`{"alg":"ES256","kid":"2"}`, valid(nil), make([]byte, 64)),
		"encrypted token":               "e30.a.b.c.d",
		"JSON serialisation":            `{"payload":"e30","signatures":[]}`,
		"huge":                          strings.Repeat("a", 1<<20),
		"huge claims":                   sign(t, jose.RS256, k.rsa, "1", valid(claims{"pad": strings.Repeat("a", maxToken)})),
		"line breaks":                   good + "\n",
		"NUL":                           "\x00" + good,
		"claims are a list":             forged(`{"alg":"RS256","kid":"1"}`, nil, []byte("x")),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := v.Verify(t.Context(), token)
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v, want ErrInvalid", name, err)
			}
			if err != nil && len(token) > 20 && strings.Contains(err.Error(), token[:20]) {
				t.Errorf("%s: the error has a part of the token: %v", name, err)
			}
		})
	}
}

// TestNew: configurations that cannot be safe are refused.
func TestNew(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	k := newKeys(t)
	privatePEM, err := x509.MarshalPKCS8PrivateKey(k.ed)
	if err != nil {
		t.Fatal(err)
	}
	for want, is := range map[string]Issuer{
		"got 0 of jwks":              {},
		"got 2 of jwks":              {JWKS: "https://x/", SecretFile: "y"},
		"fewer than 32":              {SecretFile: write(t, "s", []byte("0123456789abcdef"))},
		"need public_key_file":       {SecretFile: write(t, "s", []byte("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A"))},
		"no such file":               {SecretFile: "/nothing/here"},
		`scheme "http"`:              {JWKS: "http://login.example.com/keys"},
		`scheme "ftp"`:               {JWKS: "ftp://login.example.com/keys"},
		"of the form":                {JWKS: "https://user:pass@login.example.com/keys"},
		"has no usable key":          {JWKS: write(t, "k", jwks(t, jose.JSONWebKey{Key: weak.Public()}, jose.JSONWebKey{Key: []byte("short")}, jose.JSONWebKey{Key: k.rsa.Public(), Use: "enc"}))},
		"not a JSON Web Key Set":     {JWKS: write(t, "k", []byte("{"))},
		"has no public key":          {PublicKeyFile: write(t, "k", []byte("key"))},
		`PEM block "PRIVATE KEY" is`: {PublicKeyFile: write(t, "k", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: privatePEM}))},
	} {
		t.Run(want, func(t *testing.T) {
			is.Name, is.Audience = testIssuer, testAudience
			if _, err := New(t.Context(), []Issuer{is}, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	if _, err := New(t.Context(), nil, zerolog.Nop()); err == nil {
		t.Error("no issuer: got no error")
	}
}

// TestReadFile: the configuration file is read with relative paths, and misspelt
// fields are refused.
func TestReadFile(t *testing.T) {
	path := write(t, "auth.json", []byte(`{"issuers":[{"issuer":"i","audience":"a","jwks":"keys.json"},{"issuer":"j","audience":"a","jwks":"https://x/","claim":"c"}]}`))
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Issuer{{Name: "i", Audience: "a", JWKS: filepath.Join(filepath.Dir(path), "keys.json"), Claim: "streamer"}, {Name: "j", Audience: "a", JWKS: "https://x/", Claim: "c"}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for text, want := range map[string]string{
		`{"issuers":[{"isuer":"i"}]}`: `unknown field "isuer"`,
		`[]`:                          "not {",
		`{"issuers":[]} {}`:           "text follows",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := ReadFile(write(t, "auth.json", []byte(text))); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", text, err, want)
			}
		})
	}
}

// FuzzVerify: no token but the valid one is accepted, and none causes a panic.
func FuzzVerify(f *testing.F) {
	v := withSecret(f)
	good := sign(f, jose.HS256, []byte(testSecret), "", valid(nil))
	f.Add([]byte(good))
	f.Add([]byte(forged(`{"alg":"none"}`, valid(nil), nil)))
	f.Add([]byte("..."))
	f.Fuzz(func(t *testing.T, token []byte) {
		if id, err := v.Verify(context.Background(), string(token)); err == nil && !bytes.Equal(token, []byte(good)) && !id.May(Watch, "s") {
			t.Errorf("%q is accepted with other claims", token)
		}
	})
}
