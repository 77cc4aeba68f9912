package auth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"
)

const (
	minSecret  = 32   // bytes of an HMAC secret
	minRSABits = 2048 // of a modulus
	maxKeys    = 100  // keys of a set
)

type key struct {
	id       string // "" if it has none
	alg      string // the only algorithm, "" for each that fits the kind
	material any    // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, or []byte for HMAC
}

// fits reports whether the key can have signed a token with this header. The
// algorithm must be one of the kind of the key, so that a public key is never used
// as a secret.
func (k key) fits(h jose.Header) bool {
	if h.KeyID != "" && k.id != "" && h.KeyID != k.id || k.alg != "" && h.Algorithm != k.alg {
		return false
	}
	switch m := k.material.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(h.Algorithm, "RS") || strings.HasPrefix(h.Algorithm, "PS")
	case *ecdsa.PublicKey:
		return h.Algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[m.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return h.Algorithm == string(jose.EdDSA)
	case []byte:
		return strings.HasPrefix(h.Algorithm, "HS")
	}
	return false
}

func newKey(id, alg string, material any) (key, error) {
	switch m := material.(type) {
	case []byte:
		if len(m) < minSecret {
			return key{}, fmt.Errorf("the secret has %d bytes, fewer than %d", len(m), minSecret)
		}
	case *rsa.PublicKey:
		if m.N.BitLen() < minRSABits {
			return key{}, fmt.Errorf("the RSA key has %d bits, fewer than %d", m.N.BitLen(), minRSABits)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return key{}, fmt.Errorf("a key of the kind %T is not supported", material)
	}
	return key{id, alg, material}, nil
}

// parseJWKS returns the keys of a JSON Web Key Set in a file. It may have secrets.
func parseJWKS(text []byte) ([]key, error) { return parseSet(text, true) }

// parsePublicJWKS returns the keys of a published JSON Web Key Set. A secret in it
// is public, so it is not used.
func parsePublicJWKS(text []byte) ([]key, error) { return parseSet(text, false) }

// parseSet returns the usable keys of a set. Others are skipped, because sets also
// have keys for encryption and of newer kinds. A set without usable keys is an error.
func parseSet(text []byte, secrets bool) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New(`not a JSON Web Key Set: {"keys":[…]}`)
	}
	var keys []key
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) != nil || k.Use != "" && k.Use != "sig" {
			continue
		}
		material := k.Key
		if _, secret := material.([]byte); secret && !secrets {
			continue
		} else if private, ok := material.(interface{ Public() crypto.PublicKey }); ok {
			material = private.Public()
		}
		if usable, err := newKey(k.KeyID, k.Algorithm, material); err == nil {
			keys = append(keys, usable)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the JSON Web Key Set has no usable key for signatures")
	}
	return keys, nil
}

func parsePEM(text []byte) ([]key, error) {
	var keys []key
	for block, rest := pem.Decode(text); block != nil && len(keys) < maxKeys; block, rest = pem.Decode(rest) {
		material, err := publicKey(block)
		if err != nil {
			return nil, err
		}
		k, err := newKey("", "", material)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("the PEM file has no public key")
	}
	return keys, nil
}

func publicKey(block *pem.Block) (any, error) {
	var material any
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		material, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		material, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(block.Bytes); err == nil {
			material = c.PublicKey
		}
	default:
		err = fmt.Errorf("PEM block %q is not a public key", block.Type)
	}
	return material, err
}

// parseSecret returns the secret of a file, without the line end at its end.
func parseSecret(text []byte) ([]key, error) {
	text = bytes.TrimRight(text, "\r\n")
	if bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return nil, errors.New("secret_file has a PEM file: need public_key_file for it")
	}
	k, err := newKey("", "", text)
	if err != nil {
		return nil, err
	}
	return []key{k}, nil
}

const (
	fileEvery = time.Second      // interval after which a file is read again
	urlEvery  = 5 * time.Minute  // interval after which a URL is read again
	urlRetry  = 10 * time.Second // minimum interval of reads because of an unknown key
	readTime  = 5 * time.Second  // timeout of a read
	maxSet    = 1 << 20          // maximum size of keys in bytes
)

// keySet has the keys of an issuer and reads them again when they are old. Keys that
// cannot be read again stay in use.
type keySet struct {
	name         string // file or URL, for log messages
	remote       bool   // it is a URL
	every, retry time.Duration
	read         func(context.Context) ([]byte, error)
	parse        func([]byte) ([]key, error)
	log          zerolog.Logger

	keys    atomic.Pointer[[]key] // nil until the first successful read
	reading sync.Mutex            // held during a read; guards the next two fields for writing
	tried   atomic.Int64          // time of the last read, Unix nanoseconds
	failed  atomic.Bool           // the last read failed, which was logged
}

// current returns the keys. With renew they are read again, unless they were read a
// moment ago. During a read for age, other callers use the old keys.
func (k *keySet) current(ctx context.Context, renew bool) ([]key, error) {
	var err error
	switch {
	case renew || k.keys.Load() == nil:
		k.reading.Lock() // waits for a read in progress, which may bring the key
		err = k.refresh(ctx, k.retry)
		k.reading.Unlock()
	case k.reading.TryLock():
		err = k.refresh(ctx, k.every)
		k.reading.Unlock()
	}
	if keys := k.keys.Load(); keys != nil {
		return *keys, nil
	}
	if err == nil || k.remote {
		err = ErrUnavailable
	}
	return nil, err
}

// refresh reads the keys if the last read is older than age. The caller holds
// reading.
func (k *keySet) refresh(ctx context.Context, age time.Duration) error {
	if tried := k.tried.Load(); tried != 0 && time.Since(time.Unix(0, tried)) < age {
		return nil
	}
	// The read serves all clients, so it does not end with this one's connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	text, err := k.read(ctx)
	var keys []key
	if err == nil {
		keys, err = k.parse(text)
	}
	k.tried.Store(time.Now().UnixNano())
	if err != nil {
		if !k.failed.Swap(true) {
			k.log.Warn().Err(err).Str("keys", k.name).Msg("cannot refresh issuer keys; keeping the previous ones")
		}
		return fmt.Errorf("%s: %w", k.name, err)
	}
	k.failed.Store(false)
	k.keys.Store(&keys)
	return nil
}

func readFile(name string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readAll(f)
	}
}

func readURL(target string) func(context.Context) ([]byte, error) {
	client := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 3 {
			return errors.New("more than 3 redirects")
		}
		return checkURL(r.URL.String())
	}}
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("got status %d", resp.StatusCode)
		}
		return readAll(resp.Body)
	}
}

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSet+1))
	if err == nil && len(text) > maxSet {
		err = fmt.Errorf("more than %d bytes", maxSet)
	}
	return text, err
}
