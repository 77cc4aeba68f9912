package events

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestToken(t *testing.T) {
	for session, want := range map[string]string{
		"abc-DEF_019":            "abc-DEF_019",
		"a.b":                    "a=2Eb",
		"a=b*> \x00":             "a=3Db=2A=3E=20=00",
		"é":                      "=C3=A9",
		"你好":                     "=E4=BD=A0=E5=A5=BD",
		strings.Repeat("x", 256): strings.Repeat("x", 256),
	} {
		t.Run(session, func(t *testing.T) {
			got, err := Token(session)
			if err != nil || got != want {
				t.Errorf("%q: %q, %v, want %q", session, got, err, want)
			}
			if back, err := ParseToken(got); err != nil || back != session {
				t.Errorf("%q read back: %q, %v, want %q", got, back, err, session)
			}
		})
	}
	for _, session := range []string{"", strings.Repeat("x", 257), strings.Repeat("é", 43), "\xff"} {
		t.Run(session, func(t *testing.T) {
			if got, err := Token(session); err == nil {
				t.Errorf("%q has the token %q", session, got)
			}
		})
	}
}

// TestTokenSpelling checks that a token in another spelling is refused with the
// right one.
func TestTokenSpelling(t *testing.T) {
	for token, want := range map[string]string{
		"=2e":     `must be spelled "=2E"`,
		"=61":     `must be spelled "a"`,
		"é":       `must be spelled "=C3=A9"`,
		"a b":     `must be spelled "a=20b"`,
		"":        "empty",
		"a=":      "byte 1: = is not followed by two hex digits",
		"a=2":     "byte 1: = is not followed",
		"=GG":     "byte 0: = is not followed",
		"=FF":     "not valid UTF-8",
		"=C3=28a": "not valid UTF-8",
	} {
		t.Run(token, func(t *testing.T) {
			got, err := ParseToken(token)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %q, error %v, want one with %s", token, got, err, want)
			}
		})
	}
}

// FuzzToken checks that a session has one token, which is one token of a
// subject, and that a token has one session.
func FuzzToken(f *testing.F) {
	f.Add("a.b é")
	f.Add("=2E")
	f.Fuzz(func(t *testing.T, s string) {
		if token, err := Token(s); err == nil {
			if back, err := ParseToken(token); err != nil || back != s {
				t.Errorf("%q: token %q is read as %q, %v", s, token, back, err)
			}
			if strings.ContainsAny(token, ".*> \t\r\n") || len(token) > MaxToken {
				t.Errorf("%q: %q is not one token", s, token)
			}
		} else if s != "" && len(s) <= MaxToken/3 && utf8.ValidString(s) {
			t.Errorf("%q: %v", s, err)
		}
		if session, err := ParseToken(s); err == nil {
			if token, err := Token(session); err != nil || token != s {
				t.Errorf("token %q: session %q has %q, %v", s, session, token, err)
			}
		}
	})
}
