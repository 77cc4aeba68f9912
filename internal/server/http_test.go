package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// pairOf returns a certificate and its key as PEM.
func pairOf(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// put writes a file.
func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCertificateReload: a new certificate is used after both of its files are
// replaced, and a pair that does not fit leaves the old one in use.
func TestCertificateReload(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cert1, key1 := pairOf(t, 1)
	cert2, key2 := pairOf(t, 2)
	put(t, certFile, cert1)
	put(t, keyFile, key1)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, err := newCertificate(certFile, keyFile, zerolog.New(&log))
		if err != nil {
			t.Fatal(err)
		}
		want := func(step string, serial int64) {
			t.Helper()
			time.Sleep(certificateEvery)
			pair, err := c.current(nil)
			if err != nil {
				t.Fatalf("%s: %v", step, err)
			}
			leaf, err := x509.ParseCertificate(pair.Certificate[0])
			if err != nil || leaf.SerialNumber.Int64() != serial {
				t.Errorf("%s: got %v, %v, want serial %d", step, leaf.SerialNumber, err, serial)
			}
		}
		want("start", 1)
		put(t, certFile, cert2)
		want("half replaced", 1)
		put(t, keyFile, key2)
		want("replaced", 2)
		put(t, certFile, []byte("-----BEGIN"))
		want("damaged", 2)
		if err := os.Remove(certFile); err != nil {
			t.Fatal(err)
		}
		want("removed", 2)
		put(t, certFile, cert1)
		put(t, keyFile, key1)
		want("replaced again", 1)
		if text := log.String(); strings.Count(text, "cannot read") != 3 || strings.Contains(text, "BEGIN") {
			t.Errorf("log: got %s, want 3 messages", text)
		}
	})
}

// TestGatewayFiles: files of the gateway that cannot be used are refused with the name
// of the flag.
func TestGatewayFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		put(t, filepath.Join(dir, name), []byte(text))
		return filepath.Join(dir, name)
	}
	cert, key := pairOf(t, 1)
	_, other := pairOf(t, 2)
	certFile, keyFile, otherKey := path("cert", string(cert)), path("key", string(key)), path("other", string(other))
	secret := path("secret", "0123456789abcdef0123456789abcdef")
	good := path("auth.json", `{"issuers":[{"issuer":"i","audience":"a","secret_file":"secret"}]}`)
	for _, c := range []struct {
		name string
		c    Config
		want string // part of the error; "" for none
	}{
		{"all", Config{TokenFile: secret, AuthFile: good, CertFile: certFile, KeyFile: keyFile}, ""},
		{"tokens, exposed", Config{HTTPListen: "0.0.0.0:0", AuthFile: good}, ""},
		{"token file, none", Config{TokenFile: filepath.Join(dir, "none")}, "--http-token-file: open"},
		{"token file, empty", Config{TokenFile: path("empty", "\n")}, "is empty"},
		{"auth, none", Config{AuthFile: filepath.Join(dir, "none")}, "--auth: open"},
		{"auth, no issuer", Config{AuthFile: path("a1", `{}`)}, "--auth: auth: no issuer"},
		{"auth, misspelt", Config{AuthFile: path("a2", `{"issuer":[]}`)}, `unknown field "issuer"`},
		{"auth, no keys", Config{AuthFile: path("a3", `{"issuers":[{"issuer":"i","audience":"a"}]}`)}, `--auth: auth: issuer "i": got 0 of jwks`},
		{"auth, twice", Config{AuthFile: path("a4", `{"issuers":[{"issuer":"i","audience":"a","secret_file":"secret"},{"issuer":"i","audience":"b","secret_file":"secret"}]}`)}, "listed twice"},
		{"certificate without a key", Config{CertFile: certFile}, "--http-tls-cert, --http-tls-key: need both"},
		{"key without a certificate", Config{KeyFile: keyFile}, "need both"},
		{"key of another certificate", Config{CertFile: certFile, KeyFile: otherKey}, "does not match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.c.HTTPListen == "" {
				c.c.HTTPListen = "127.0.0.1:0"
			}
			o, err := c.c.gateway(t.Context(), zerolog.Nop())
			if got := message(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			if err == nil && (o.Verify == nil || (o.Certificate != nil) != (c.c.CertFile != "")) {
				t.Errorf("%s: got %+v", c.name, o)
			}
		})
	}
}
