package auth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"
)

// Issuer is the configuration of one issuer of tokens. Exactly one of JWKS,
// PublicKeyFile and SecretFile names its keys.
type Issuer struct {
	Name          string `json:"issuer"`          // the claim iss
	Audience      string `json:"audience"`        // one of the claim aud
	JWKS          string `json:"jwks"`            // URL or file of a JSON Web Key Set
	PublicKeyFile string `json:"public_key_file"` // PEM file of public keys or certificates
	SecretFile    string `json:"secret_file"`     // file of a secret of at least 32 bytes, for HMAC
	Claim         string `json:"claim"`           // claim with the rights; if "", "streamer"
}

// ReadFile returns the issuers in a configuration file: {"issuers":[…]}. Paths in it
// are relative to its directory.
func ReadFile(path string) ([]Issuer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var in struct {
		Issuers []Issuer `json:"issuers"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf(`%s: not {"issuers":[…]}: %w`, path, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: text follows the JSON object", path)
	}
	for i := range in.Issuers {
		is := &in.Issuers[i]
		is.Claim = cmp.Or(is.Claim, "streamer")
		for _, name := range []*string{&is.JWKS, &is.PublicKeyFile, &is.SecretFile} {
			if *name != "" && !filepath.IsAbs(*name) && !isURL(*name) {
				*name = filepath.Join(filepath.Dir(path), *name)
			}
		}
	}
	return in.Issuers, nil
}

func isURL(name string) bool { return strings.Contains(name, "://") }

func (is *Issuer) keySet(log zerolog.Logger) (*keySet, error) {
	if is.Name == "" || is.Audience == "" {
		return nil, errors.New("need issuer and audience")
	}
	k := &keySet{log: log.With().Str("issuer", is.Name).Logger(), every: fileEvery, retry: fileEvery}
	sources := 0
	for _, s := range []struct {
		name  string
		parse func([]byte) ([]key, error)
	}{{is.JWKS, parseJWKS}, {is.PublicKeyFile, parsePEM}, {is.SecretFile, parseSecret}} {
		if s.name != "" {
			sources++
			k.name, k.parse = s.name, s.parse
		}
	}
	if sources != 1 {
		return nil, fmt.Errorf("got %d of jwks, public_key_file and secret_file: need one", sources)
	}
	if is.JWKS == "" || !isURL(is.JWKS) {
		k.read = readFile(k.name)
		return k, nil
	}
	if err := checkURL(is.JWKS); err != nil {
		return nil, err
	}
	k.remote, k.every, k.retry, k.read = true, urlEvery, urlRetry, readURL(is.JWKS)
	k.parse = parsePublicJWKS
	return k, nil
}

// checkURL returns an error if keys must not be read from a URL: a network could
// replace the keys if the connection is not TLS.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("jwks is not a URL of the form https://login.example.com/keys")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return fmt.Errorf("jwks has the scheme %q: need https", u.Scheme)
	}
	return nil
}
