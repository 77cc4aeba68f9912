package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// gate decides by Host, Origin and Sec-Fetch-Site whether a request may come
// from where it does. Any web page can make a browser send requests to
// loopback, and by pointing its own name there (DNS rebinding) read the
// answers too: the Host header then bears the page's name.
type access struct {
	hosts   map[string]bool
	origins map[string]bool
	exposed bool
}

func newAccess(opts Options) (access, error) {
	g := access{hosts: map[string]bool{"localhost": true}, origins: map[string]bool{}, exposed: opts.Exposed}
	for _, h := range opts.Hosts {
		name := hostName(h)
		if name == "" || strings.ContainsAny(h, "/* ") {
			return access{}, fmt.Errorf("gateway: host %q is no host name", h)
		}
		g.hosts[name] = true
	}
	for _, o := range opts.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != strings.ToLower(o) {
			return access{}, fmt.Errorf("gateway: origin %q is not of the form https://app.example.com", o)
		}
		g.origins[strings.ToLower(o)] = true
	}
	return g, nil
}

// check refuses what may not come in, and tells browsers which foreign origin
// may read the answer.
func (g access) check(w http.ResponseWriter, r *http.Request) error {
	if !g.hostAllowed(r.Host) {
		return refuse(http.StatusForbidden, fmt.Sprintf("this server is not reached as %q (option --http-host)", r.Host))
	}
	w.Header().Add("Vary", "Origin")
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return refuse(http.StatusForbidden, "more than one Origin")
	}
	if len(origins) == 1 {
		return g.checkOrigin(w, r, origins[0])
	}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		// A browser sends no Origin with images, scripts and navigation.
		switch site := r.Header.Get("Sec-Fetch-Site"); site {
		case "", "none", "same-origin":
		default:
			return refuse(http.StatusForbidden, fmt.Sprintf("requests from other sites are refused (Sec-Fetch-Site: %s)", site))
		}
	}
	return nil
}

func (g access) checkOrigin(w http.ResponseWriter, r *http.Request, origin string) error {
	if g.origins[strings.ToLower(origin)] {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Expose-Headers", headerFirst+", Retry-After")
		return nil
	}
	// Whether by http or https is not known behind a proxy, so the scheme is
	// left aside; the Host is one of ours by now.
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" && !strings.EqualFold(u.Scheme+"://"+u.Host, origin) {
		return refuse(http.StatusForbidden, fmt.Sprintf("origin %q is malformed: it must be scheme://host or scheme://host:port and nothing more", origin))
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
		return refuse(http.StatusForbidden, fmt.Sprintf("origin %q is not allowed (option --http-origin)", origin))
	}
	return nil
}

func (g access) hostAllowed(host string) bool {
	name := hostName(host)
	if g.hosts[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	// Nobody can point an address elsewhere, so one is safe where others are
	// to connect at all.
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.IsLoopback() || g.exposed)
}

// hostName gives a Host without port, brackets, case and final dot.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// preflight answers what a browser asks before it lets a foreign page send.
func (g *Gateway) preflight(w http.ResponseWriter, r *http.Request, allow string) {
	if err := g.access.check(w, r); err != nil {
		g.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Allow", allow)
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", allow)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Streamer-Format, Traceparent, Tracestate")
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
}
