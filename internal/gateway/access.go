package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"streamer/internal/gateway/respond"
	"streamer/internal/tap"
)

const (
	// exposedHeaders are the response headers that pages of allowed origins can read.
	exposedHeaders = headerFirst + ", " + headerRetention + ", Content-Location, ETag, Location, Retry-After, Stream-Cursor, Stream-Next-Offset, Stream-Up-To-Date, WWW-Authenticate"
	// allowedHeaders are the request headers that they can send. Clients of frontend
	// libraries send User-Agent and X-Api-Key.
	allowedHeaders = "Authorization, Cache-Control, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Streamer-Format, Streamer-Namespace, Streamer-Parent-Call, Traceparent, Tracestate, User-Agent, X-Api-Key"
)

// access decides by Host, Origin and Sec-Fetch-Site which requests are allowed. Any
// web page can make a browser send requests to loopback. With a DNS name that
// resolves to loopback (DNS rebinding) it can also read the answers. The Host
// header then has that name.
type access struct {
	hosts   map[string]bool
	origins map[string]bool
	exposed bool
}

func newAccess(opts Options) (access, error) {
	a := access{hosts: map[string]bool{"localhost": true}, origins: map[string]bool{}, exposed: opts.Exposed}
	for _, h := range opts.Hosts {
		name := hostName(h)
		if name == "" || strings.ContainsAny(h, "/* ") {
			return access{}, fmt.Errorf("gateway: host %q is not a host name", h)
		}
		a.hosts[name] = true
	}
	for _, o := range opts.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != strings.ToLower(o) {
			return access{}, fmt.Errorf("gateway: origin %q is not of the form https://app.example.com", o)
		}
		a.origins[strings.ToLower(o)] = true
	}
	return a, nil
}

// check refuses a request that is not allowed. It sets the headers that let an
// allowed foreign origin read the answer.
func (a access) check(w http.ResponseWriter, r *http.Request) error {
	if !a.hostAllowed(r.Host) {
		return respond.Refuse(http.StatusForbidden, fmt.Sprintf("host %.100q is not allowed (option --http-host)", r.Host))
	}
	w.Header().Add("Vary", "Origin")
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return respond.Refuse(http.StatusForbidden, "more than one Origin")
	}
	if len(origins) == 1 {
		return a.checkOrigin(w, r, origins[0])
	}
	if strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, tap.Prefix) {
		// Browsers send no Origin for images, scripts and navigation.
		switch site := r.Header.Get("Sec-Fetch-Site"); site {
		case "", "none", "same-origin":
		default:
			return respond.Refuse(http.StatusForbidden, fmt.Sprintf("requests from other sites are refused (Sec-Fetch-Site: %.40q)", site))
		}
	}
	return nil
}

// checkOrigin refuses a request from an origin that is neither configured nor the
// gateway's own.
func (a access) checkOrigin(w http.ResponseWriter, r *http.Request, origin string) error {
	if a.origins[strings.ToLower(origin)] {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
		return nil
	}
	// Behind a proxy the scheme is unknown, so it is compared only with TLS here. The
	// Host has been checked before.
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" && !strings.EqualFold(u.Scheme+"://"+u.Host, origin) {
		return respond.Refuse(http.StatusForbidden, fmt.Sprintf("origin %.100q is malformed: it must be scheme://host or scheme://host:port", origin))
	}
	own := err == nil && (u.Scheme == "https" || u.Scheme == "http" && r.TLS == nil)
	if !own || !strings.EqualFold(u.Host, r.Host) {
		return respond.Refuse(http.StatusForbidden, fmt.Sprintf("origin %.100q is not allowed (option --http-origin)", origin))
	}
	return nil
}

func (a access) hostAllowed(host string) bool {
	name := hostName(host)
	if a.hosts[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	// DNS cannot redirect an IP address, so any address is safe if other
	// machines may connect.
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.IsLoopback() || a.exposed)
}

// hostName returns a Host in lower case without port, brackets and final dot.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// preflight answers an OPTIONS request, which a browser sends before a request of a
// foreign page.
func (g *Gateway) preflight(w http.ResponseWriter, r *http.Request, allow string) {
	if err := g.access.check(w, r); err != nil {
		g.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Allow", allow)
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", allow)
		h.Set("Access-Control-Allow-Headers", allowedHeaders)
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
}
