package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
)

// atMost returns a function that cuts ids to n characters. A hash keeps different
// ids different.
func atMost(n int) func(string) string {
	return func(id string) string {
		if len(id) <= n {
			return id
		}
		return hashed(id, n)
	}
}

func plain64(id string) string {
	if len(id) <= 64 && strings.IndexFunc(id, isSpecial) < 0 {
		return id
	}
	return hashed(id, 64)
}

func isSpecial(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// hashed returns at most n plain characters of the id followed by a hash of it.
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

// mistralID returns an id of nine letters and digits, which Mistral's API requires:
// the last nine digits of the hash in base 62, lowest first.
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
