package gateway

import (
	"net/http"
	"strings"

	"streamer/internal/auth"
	"streamer/internal/gateway/respond"
	"streamer/internal/tap"
)

// serveTap passes a request on to the tap. The header Authorization is for the upstream,
// so the token of the client is in one of its own.
func (g *Gateway) serveTap(w http.ResponseWriter, r *http.Request) {
	if err := g.admitTap(r); err != nil {
		g.fail(w, r, err)
		return
	}
	g.opts.Tap.ServeHTTP(w, r)
}

func (g *Gateway) admitTap(r *http.Request) error {
	headers := http.Header{} // of the answer, whose fields are those of the upstream
	if err := g.access.check(unsent{headers}, r); err != nil {
		return err
	}
	if !g.credentials.required() {
		return nil
	}
	asked := &http.Request{Header: http.Header{"Authorization": {"Bearer " + r.Header.Get(tap.HeaderToken)}}, URL: r.URL}
	id, err := g.credentials.check(unsent{headers}, asked.WithContext(r.Context()))
	if err != nil {
		g.counts.denied.Add(1)
		return respond.Refuse(http.StatusUnauthorized, "the tap requires a token, in the header "+tap.HeaderToken)
	}
	if !id.MayAll(auth.Publish) {
		return respond.Refuse(http.StatusForbidden, "the token does not permit to publish to all sessions, as the tap does")
	}
	return nil
}

// unsent is an answer that is not sent.
type unsent struct{ header http.Header }

func (u unsent) Header() http.Header         { return u.header }
func (u unsent) Write(b []byte) (int, error) { return len(b), nil }
func (u unsent) WriteHeader(int)             {}

func (g *Gateway) isTap(r *http.Request) bool {
	return g.opts.Tap != nil && !g.opts.OnlyHealth && strings.HasPrefix(r.URL.Path, tap.Prefix)
}
