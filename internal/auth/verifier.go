package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/rs/zerolog"
)

// ErrInvalid is the error for a token that is not accepted. Its text may be sent to
// clients.
var ErrInvalid = errors.New("the token is not valid")

// ErrUnavailable is the error for a token whose issuer's keys could not be read yet.
var ErrUnavailable = errors.New("the keys of the issuer cannot be read")

const (
	// maxToken is the maximum length of a token. Request headers have 16 KiB.
	maxToken = 8 << 10
	// leeway is the accepted difference of clocks for nbf and iat. exp has none,
	// because connections end at it.
	leeway = 30 * time.Second
)

func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.HS256, jose.HS384, jose.HS512, jose.RS256, jose.RS384, jose.RS512,
		jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// Verifier verifies tokens. Its methods may be called from several goroutines.
type Verifier struct {
	issuers map[string]*issuer
}

type issuer struct {
	Issuer
	keys *keySet
}

// New returns a verifier of the tokens of issuers. It reads their keys. A file that
// cannot be read is an error; a URL that cannot be read is logged and read again when
// a token needs it.
func New(ctx context.Context, issuers []Issuer, log zerolog.Logger) (*Verifier, error) {
	v := &Verifier{issuers: map[string]*issuer{}}
	for _, is := range issuers {
		if v.issuers[is.Name] != nil {
			return nil, fmt.Errorf("auth: issuer %q is listed twice", is.Name)
		}
		keys, err := is.keySet(log)
		if err != nil {
			return nil, fmt.Errorf("auth: issuer %q: %w", is.Name, err)
		}
		if _, err := keys.current(ctx, false); err != nil && !keys.remote {
			return nil, fmt.Errorf("auth: issuer %q: %w", is.Name, err)
		}
		v.issuers[is.Name] = &issuer{is, keys}
	}
	if len(v.issuers) == 0 {
		return nil, errors.New("auth: no issuer is listed")
	}
	return v, nil
}

// Verify returns the bearer of a token. The error is ErrInvalid with the reason, or
// ErrUnavailable.
func (v *Verifier) Verify(ctx context.Context, token string) (*Identity, error) {
	if len(token) > maxToken {
		return nil, invalid(fmt.Sprintf("it is longer than %d bytes", maxToken))
	}
	if strings.ContainsFunc(token, notCompact) {
		return nil, invalid("it has characters that a JSON Web Token has not")
	}
	parsed, err := jwt.ParseSigned(token, algorithms())
	if err != nil || len(parsed.Headers) != 1 {
		return nil, invalid("it is not a JSON Web Token with an accepted algorithm")
	}
	// The claims are not verified yet. They only select the keys.
	var claimed jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&claimed); err != nil {
		return nil, invalid("its claims cannot be read")
	}
	is := v.issuers[claimed.Issuer]
	if is == nil {
		return nil, invalid("its issuer is not accepted")
	}
	claims, extra, err := is.open(ctx, parsed)
	if err != nil {
		return nil, err
	}
	if err := is.check(claims, time.Now()); err != nil {
		return nil, err
	}
	rights, err := parseRights(extra[is.Claim])
	if err != nil {
		return nil, invalid(fmt.Sprintf("claim %q: %v", is.Claim, err))
	}
	return &Identity{Name: name(claims, token), Subject: claims.Subject, Expires: claims.Expiry.Time(), rights: rights}, nil
}

func notCompact(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}

func name(claims jwt.Claims, token string) string {
	if claims.Subject != "" {
		return claims.Issuer + "\n" + claims.Subject
	}
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// open returns the claims of a token if a key of the issuer signed it. If none did,
// the keys are read again, once per interval: they may have been replaced.
func (is *issuer) open(ctx context.Context, t *jwt.JSONWebToken) (jwt.Claims, map[string]json.RawMessage, error) {
	for _, renew := range []bool{false, true} {
		keys, err := is.keys.current(ctx, renew)
		if err != nil && renew {
			return jwt.Claims{}, nil, err
		}
		for _, k := range keys {
			if !k.fits(t.Headers[0]) {
				continue
			}
			var claims jwt.Claims
			var extra map[string]json.RawMessage
			if err := t.Claims(k.material, &claims, &extra); err == nil {
				return claims, extra, nil
			}
		}
	}
	return jwt.Claims{}, nil, invalid("it is not signed with a key of its issuer")
}

func (is *issuer) check(c jwt.Claims, now time.Time) error {
	switch {
	case c.Issuer != is.Name: // the keys were selected by it
		return invalid("its issuer is not accepted")
	case !slices.Contains(c.Audience, is.Audience):
		return invalid("it is for another audience")
	case c.Expiry == nil:
		return invalid("it has no exp")
	case !now.Before(c.Expiry.Time()):
		return invalid("it has expired")
	case c.NotBefore != nil && now.Add(leeway).Before(c.NotBefore.Time()):
		return invalid("it is not valid yet")
	case c.IssuedAt != nil && now.Add(leeway).Before(c.IssuedAt.Time()):
		return invalid("it was issued in the future")
	}
	return nil
}

func invalid(why string) error { return fmt.Errorf("%w: %s", ErrInvalid, why) }
