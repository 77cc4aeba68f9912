package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
)

// sign writes the signature of a file beside it, with the ending .sig, as `cosign
// sign-blob` does: the signature of the SHA-256 of the file, as ASN.1 in base64. The same
// key gives the same signature.
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
	return os.WriteFile(name+".sig", []byte(base64.StdEncoding.EncodeToString(signature)), 0o644) //nolint:gosec // G306: it is published
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
