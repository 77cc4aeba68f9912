// Package auth verifies the JSON Web Tokens of HTTP clients and states what each
// bearer may do.
//
// It promises:
//   - A token is accepted only if a configured issuer signed it with a key that fits
//     the algorithm, and only with exp, aud and iss. The algorithm "none" does not
//     exist, a public key is never a secret, and keys in a token are not used.
//   - Without the claim, or with an entry that cannot be read, nothing is permitted.
//   - Key sets are read again when they change. An unknown key causes at most one
//     read per interval, whatever clients send.
//   - No error has a part of a token or of a key.
package auth

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Action is something that a client does with a session.
type Action int

// The actions.
const (
	Watch     Action = iota // read the events
	Publish                 // store deltas, results, progress and ends
	Interrupt               // close open calls
	Answer                  // answer calls that wait for a person
	Erase                   // delete all that is stored
	Metrics                 // read the metrics, if it is on all sessions
	actions                 // number of actions
)

// String returns the name of the action, which is also its field in the claim.
func (a Action) String() string {
	return [...]string{"watch", "publish", "interrupt", "answer", "erase", "metrics"}[a]
}

// Identity is the bearer of a token, and what it may do.
type Identity struct {
	// Name is the same for all tokens of a subject of an issuer. A token without a
	// subject has a name of its own. "" means that clients are not distinguished.
	Name string
	// Subject is that of the token, "" if it has none.
	Subject string
	// Expires is the end of all connections of the token. Zero means never.
	Expires time.Time

	rights [actions][]rule
}

// Unlimited returns an identity that may do everything and does not expire.
func Unlimited() *Identity { return Only(Watch, Publish, Interrupt, Answer, Erase, Metrics) }

// Only returns an identity that may do some actions on all sessions and does not expire.
func Only(list ...Action) *Identity {
	id := new(Identity)
	for _, a := range list {
		id.rights[a] = []rule{{text: "*", pattern: true}}
	}
	return id
}

// May reports whether an action is permitted on a session.
func (i *Identity) May(a Action, session string) bool {
	return slices.ContainsFunc(i.rights[a], func(r rule) bool { return r.matches(session) })
}

// MayPattern reports whether an action is permitted on every session whose name matches
// a pattern, in which * matches any characters.
func (i *Identity) MayPattern(a Action, pattern string) bool {
	// A text that a rule matches, with * as a character like any other, is matched
	// whatever replaces its *: only a * of the rule can match these.
	return slices.ContainsFunc(i.rights[a], func(r rule) bool { return r.pattern && r.matches(pattern) })
}

// MayAll reports whether an action is permitted on every session.
func (i *Identity) MayAll(a Action) bool {
	return slices.ContainsFunc(i.rights[a], func(r rule) bool {
		return r.pattern && r.text != "" && strings.Trim(r.text, "*") == ""
	})
}

// rule is an entry of the claim: a session, or a pattern of sessions. They have
// different forms, because an issuer may copy a name that a user chose: a session
// with the name "*" must not permit all.
type rule struct {
	text    string
	pattern bool
}

// UnmarshalJSON reads "session" or {"pattern":"support-*"}.
func (r *rule) UnmarshalJSON(b []byte) error {
	var session *string
	if json.Unmarshal(b, &session) == nil && session != nil && *session != "" {
		*r = rule{text: *session}
		return nil
	}
	var object map[string]string
	if err := json.Unmarshal(b, &object); err != nil || len(object) != 1 || object["pattern"] == "" {
		return errors.New(`an entry is neither a session nor {"pattern":"…"}`)
	}
	*r = rule{text: object["pattern"], pattern: true}
	return nil
}

func (r rule) matches(session string) bool {
	if r.pattern {
		return Match(r.text, session)
	}
	return r.text == session
}

// Match reports whether a session matches a pattern, in which * matches any characters,
// and all others match themselves.
func Match(pattern, session string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(session, parts[0])
	if last == 0 || !ok {
		return ok && rest == ""
	}
	for _, part := range parts[1:last] {
		_, rest, ok = strings.Cut(rest, part)
		if !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// parseRights reads the value of the claim. nil means that the token has none.
func parseRights(claim []byte) (rights [actions][]rule, err error) {
	if claim == nil {
		return rights, nil
	}
	var fields map[string][]rule
	if err := json.Unmarshal(claim, &fields); err != nil {
		return rights, errors.New("it is not an object with lists of sessions")
	}
	for a := range actions {
		rights[a] = fields[a.String()]
		delete(fields, a.String())
	}
	if len(fields) > 0 {
		return rights, errors.New("it has a field other than watch, publish, interrupt, answer, erase and metrics")
	}
	return rights, nil
}
