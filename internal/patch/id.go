package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
)

// atMost cuts an id to n characters; a hash keeps two long ones apart.
func atMost(n int) func(string) string {
	return func(id string) string {
		if len(id) <= n {
			return id
		}
		return hashed(id, n)
	}
}

// plain64 is ^[a-zA-Z0-9_-]{1,64}$.
func plain64(id string) string {
	if len(id) <= 64 && strings.IndexFunc(id, isSpecial) < 0 {
		return id
	}
	return hashed(id, 64)
}

func isSpecial(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// hashed is id with plain characters only, at most n of them, and a hash of
// what it was.
func hashed(id string, n int) string {
	clean := strings.Map(func(r rune) rune {
		if isSpecial(r) {
			return '_'
		}
		return r
	}, id)
	sum := sha256.Sum256([]byte(id))
	return clean[:min(len(clean), n-9)] + "_" + hex.EncodeToString(sum[:4])
}

// mistralID is nine letters and digits, which Mistral's API insists on: the
// last nine digits, the lowest first, of the hash in base 62.
func mistralID(id string) string {
	if len(id) == 9 && strings.IndexFunc(id, func(r rune) bool { return isSpecial(r) || r == '_' || r == '-' }) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	last := []byte(text[len(text)-9:])
	slices.Reverse(last)
	return string(last)
}
