package gateway

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"streamer/internal/gateway/respond"
)

// quota bounds how many of something each holder has: streams or connections. It
// only has entries for holders that have some.
type quota struct {
	max int

	mu   sync.Mutex
	held map[string]int
}

// take adds one to a holder and reports whether that is within its limit. The holder
// "" has no limit. After true, the caller calls leave once.
func (q *quota) take(holder string) bool {
	if holder == "" {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[holder] >= q.max {
		return false
	}
	if q.held == nil {
		q.held = map[string]int{}
	}
	q.held[holder]++
	return true
}

func (q *quota) leave(holder string) {
	if holder == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[holder]--; q.held[holder] <= 0 {
		delete(q.held, holder)
	}
}

// admit counts a stream of a client, or a body that is stored as it arrives. It refuses
// one above a limit. The caller calls leave after it.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	client, address := identity(r).Name, g.proxies.client(r)
	if !g.clients.take(client) {
		return nil, tooMany(w, fmt.Sprintf("%d streams are open with tokens of this subject", g.clients.max))
	}
	if !g.addresses.take(address) {
		g.clients.leave(client)
		return nil, tooMany(w, fmt.Sprintf("%d streams are open from this address", g.addresses.max))
	}
	return func() {
		g.clients.leave(client)
		g.addresses.leave(address)
	}, nil
}

func tooMany(w http.ResponseWriter, why string) error {
	w.Header().Set("Retry-After", strconv.Itoa(5+rand.IntN(10)))
	return respond.Refuse(http.StatusTooManyRequests, why+", which is the maximum; close one")
}

// proxies are the networks whose X-Forwarded-For is trusted. Loopback is one.
type proxies []netip.Prefix

func parseProxies(list []string) (proxies, error) {
	var p proxies
	for _, s := range list {
		network, err := netip.ParsePrefix(s)
		if address, e := netip.ParseAddr(s); e == nil {
			network, err = address.Unmap().Prefix(address.Unmap().BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("gateway: proxy %q is not an address or a network such as 10.0.0.0/8", s)
		}
		p = append(p, network.Masked())
	}
	return p, nil
}

func (p proxies) trusts(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a) {
			return true
		}
	}
	return a.IsLoopback()
}

// client returns the holder of the streams of a request: the address from which the
// client connects. Each proxy appends the address that connected to it, so the last
// address that is not a proxy's is the client's, and all before it is what the client
// sent. It returns "" if the client is local.
func (p proxies) client(r *http.Request) string {
	a, ok := parseAddress(r.RemoteAddr)
	if !ok || !p.trusts(a) {
		return holder(a, ok)
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		if a, ok = parseAddress(strings.TrimSpace(hops[i])); !ok || !p.trusts(a) {
			return holder(a, ok)
		}
	}
	return ""
}

// parseAddress reads an address with or without a port.
func parseAddress(s string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err == nil
}

// holder returns the holder of an address. All addresses of an IPv6 network of 64
// bits are one holder, because a client has all of them.
func holder(a netip.Addr, ok bool) string {
	switch {
	case !ok:
		return ""
	case a.Is6():
		network, _ := a.Prefix(64) // no error: an IPv6 address has 128 bits
		return network.String()
	}
	return a.String()
}

// limitedListener closes connections of an address that has too many.
type limitedListener struct {
	net.Listener
	g *Gateway
}

// Accept returns the next connection within the limit of its address.
func (l limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		a, ok := parseAddress(c.RemoteAddr().String())
		if !ok || l.g.proxies.trusts(a) {
			return c, nil
		}
		from := holder(a, ok)
		if l.g.connections.take(from) {
			return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { l.g.connections.leave(from) })}, nil
		}
		l.g.counts.refused.Add(1)
		_ = c.Close() // the client is not served in any case
	}
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
