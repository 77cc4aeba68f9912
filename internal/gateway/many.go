package gateway

import (
	"fmt"
	"net/http"
	"slices"

	"streamer/internal/auth"
	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/gateway/respond"
)

const (
	maxMany    = 100 // maximum number of sessions of a stream
	maxPattern = 256 // maximum length of a pattern
)

type selection struct {
	tokens []string
	match  func(token string) bool // if not nil, the sessions for which it returns true
}

func (s *selection) has(token string) bool {
	if s.match != nil {
		return s.match(token)
	}
	return slices.Contains(s.tokens, token)
}

func (g *Gateway) manyEvents(w http.ResponseWriter, r *http.Request) error {
	sel, err := parseSelection(r)
	if err != nil {
		return err
	}
	if p := r.URL.Query().Get("protocol"); p != "" && p != encode.OfSessions().Name {
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("a stream of several sessions has the protocol %s, not %.40q", encode.OfSessions().Name, p))
	}
	types, err := parseTypes(r.URL.Query().Get("types"))
	if err != nil {
		return err
	}
	from, err := parseCursor(r)
	if err != nil {
		return err
	}
	open, err := g.opening(w, r, sel, from)
	if err != nil {
		return err
	}
	return g.serveStream(w, r, request{proto: encode.OfSessions(), many: sel, types: types, open: open})
}

func parseSelection(r *http.Request) (*selection, error) {
	names, patterns := r.URL.Query()["session"], r.URL.Query()["pattern"]
	switch {
	case len(names) > 0 && len(patterns) > 0 || len(patterns) > 1:
		return nil, respond.Refuse(http.StatusBadRequest, "the query has more than one pattern, or a pattern and sessions")
	case len(patterns) == 1 && len(patterns[0]) > maxPattern:
		return nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the pattern is longer than %d bytes", maxPattern))
	case len(patterns) == 1:
		return &selection{match: func(token string) bool { return auth.Match(patterns[0], sessionName(token)) }}, nil
	case len(names) == 0 || len(names) > maxMany:
		return nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the query has %d sessions; it needs 1 to %d (session=a&session=b), or a pattern (pattern=support-*)", len(names), maxMany))
	}
	sel := &selection{}
	for _, name := range names {
		token, err := tokenOf(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(sel.tokens, token) {
			sel.tokens = append(sel.tokens, token)
		}
	}
	return sel, nil
}

// sessionName returns the name of the session of a token. A token that is not in the
// canonical spelling is its own name: its rejected inputs are under it.
func sessionName(token string) string {
	if name, err := events.ParseToken(token); err == nil {
		return name
	}
	return token
}
