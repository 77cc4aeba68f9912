package events

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxToken is the length in bytes of the longest session token.
const MaxToken = 256

// Headers of stored events.
const (
	HeaderEventID = "Streamer-Event-Id" // ID.String()
	HeaderCall    = "Streamer-Call"     // Event.Call, if it has one
)

const upperHex = "0123456789ABCDEF"

// Token returns a session as one token of a subject or key: bytes outside
// [A-Za-z0-9_-] become =XX in upper-case hex. It returns an error if the
// session is empty or not UTF-8, or if its token is longer than MaxToken.
func Token(session string) (string, error) {
	if session == "" {
		return "", errors.New("events: session is empty")
	}
	if !utf8.ValidString(session) {
		return "", fmt.Errorf("events: session %q is not valid UTF-8", session)
	}
	if isPlain(session) && len(session) <= MaxToken {
		return session, nil
	}
	var b strings.Builder
	for i := range len(session) {
		if c := session[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('=')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	if b.Len() > MaxToken {
		return "", fmt.Errorf("events: session token of %d bytes is longer than %d", b.Len(), MaxToken)
	}
	return b.String(), nil
}

// ParseToken returns the session of a token. For a token in another spelling
// than that of Token it returns an error with the right spelling.
func ParseToken(token string) (string, error) {
	if token == "" {
		return "", errors.New("events: session token is empty")
	}
	if isPlain(token) && len(token) <= MaxToken {
		return token, nil
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			b.WriteByte(token[i])
			continue
		}
		c, err := hex.DecodeString(token[i+1 : min(i+3, len(token))])
		if err != nil || len(c) == 0 {
			return "", fmt.Errorf("events: session token %q: byte %d: = is not followed by two hex digits", token, i)
		}
		b.Write(c)
		i += 2
	}
	session := b.String()
	right, err := Token(session)
	if err != nil {
		return "", err
	}
	if right != token {
		return "", fmt.Errorf("events: session token %q must be spelled %q", token, right)
	}
	return session, nil
}

// Subject returns the subject under which an event is stored, for a session's
// token.
func (e *Event) Subject(token string) string { return string(e.AppendSubject(nil, token)) }

// AppendSubject appends the subject that Subject returns.
func (e *Event) AppendSubject(dst []byte, token string) []byte {
	dst = append(append(dst, "toolcalls."...), token...)
	if e.Type == Synthetic {
		return append(dst, ".synthetic"...)
	}
	return append(append(dst, ".event."...), e.Type...)
}

// isPlain reports whether no byte of s is escaped in a token, as in most names.
func isPlain(s string) bool {
	for i := range len(s) {
		if !plain(s[i]) {
			return false
		}
	}
	return true
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
