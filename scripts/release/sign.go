package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
)

// bundleSuffix is the ending of the file with a signature.
const bundleSuffix = ".sigstore.json"

// sign writes the signature of a file beside it, as a bundle of Sigstore with the key as
// the verification material, which `cosign verify-blob --key` reads. The same key gives
// the same bytes.
func sign(keyFile, name string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	key, err := parseKey(text)
	if err != nil {
		return fmt.Errorf("--key %s: %w", keyFile, err)
	}
	body, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	signature, err := key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	hint := sha256.Sum256(public)
	type object map[string]any
	return writeFile(name+bundleSuffix, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(object{
			"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
			"verificationMaterial": object{"publicKey": object{"hint": base64.StdEncoding.EncodeToString(hint[:])}},
			"messageSignature":     object{"messageDigest": object{"algorithm": "SHA2_256", "digest": sum[:]}, "signature": signature},
		})
	})
}

// parseKey returns the ECDSA key of a PEM file without password.
func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "EC PRIVATE KEY":
			return x509.ParseECPrivateKey(block.Bytes)
		case "PRIVATE KEY":
			parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if key, ok := parsed.(*ecdsa.PrivateKey); ok || err != nil {
				return key, err
			}
		}
	}
	return nil, fmt.Errorf("need an ECDSA private key without password in PEM, as openssl ecparam -name prime256v1 -genkey -noout writes it")
}
