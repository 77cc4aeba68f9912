package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
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

// newKey returns a key for verification, or an error if it is too weak or of an
// unknown kind.
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
