package tap

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// newTransport returns a transport that changes nothing: it asks for no compression,
// uses no proxy, and has no time limit but those of connecting.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		// A hostile upstream sends headers without an end.
		MaxResponseHeaderBytes: 1 << 20,
	}
}

func (t *Tap) newRoute(u Upstream) *route {
	r := &route{Upstream: u}
	r.proxy = &httputil.ReverseProxy{
		Rewrite:        r.rewrite,
		Transport:      signing{t.opts.Transport},
		FlushInterval:  -1, // also an answer of known length
		BufferPool:     &buffers{},
		ErrorLog:       log.New(io.Discard, "", 0), // it would log URLs with keys
		ModifyResponse: modify,
		ErrorHandler:   t.failed,
	}
	return r
}

// signing signs the requests that have to be signed anew.
type signing struct{ http.RoundTripper }

func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	if x := exchangeIn(r.Context()); x.resign != nil {
		r = r.Clone(r.Context())
		if err := x.resign(r); err != nil {
			return nil, err
		}
	}
	return s.RoundTripper.RoundTrip(r)
}

// rewrite addresses a request to the upstream, and takes back what ReverseProxy changes.
func (r *route) rewrite(p *httputil.ProxyRequest) {
	x := exchangeIn(p.In.Context())
	p.Out.URL.Scheme, p.Out.URL.Host = r.URL.Scheme, r.URL.Host
	p.Out.URL.Path, p.Out.URL.RawPath = unescaped(x.path), x.path
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = r.URL.Host
	p.Out.Trailer = p.In.Trailer // whose values arrive behind the body
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
	p.Out.Header.Del(HeaderSession)
	p.Out.Header.Del(HeaderToken)
	withoutOwn(p.Out.Header)
}

// unescaped returns the path that is escaped as given.
func unescaped(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return plain
}

// modify confines an answer, and copies its body.
func modify(res *http.Response) error {
	confine(res)
	x := exchangeIn(res.Request.Context())
	if res.StatusCode == http.StatusSwitchingProtocols {
		x.upgrade(res)
		return nil
	}
	x.answer(res.StatusCode, res.Header)
	left := res.Request.Context()
	body := &copied{ReadCloser: res.Body, to: x.out, fail: func(err error) error {
		if err == nil || left.Err() != nil {
			return errLeft
		}
		return errCut
	}}
	if x.stoppedBy() != nil {
		return errStopped
	}
	x.length = res.ContentLength
	ending := &answerBody{copied: body, x: x}
	if res.Body = ending; x.tap.opts.ReadOn {
		res.Body = &readOn{ending, x}
	}
	return nil
}

// readOn is a body that is read to its end when it is closed before.
type readOn struct {
	*answerBody
	x *exchange
}

func (b *readOn) Close() error {
	if ended, _ := b.x.out.ended(); ended {
		return b.answerBody.Close()
	}
	b.x.readsOn = true
	stop := context.AfterFunc(b.x.tap.ctx, func() { b.ReadCloser.Close() })
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, b.answerBody)
		_ = b.answerBody.Close()
	}()
	return nil
}

// failed answers a request that got no answer.
func (t *Tap) failed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeIn(r.Context())
	if h := x.stoppedBy(); h != nil {
		x.end(errStopped)
		x.answerHeld(w, r, h)
		return
	}
	if errors.Is(err, context.Canceled) { // the client left
		x.end(errLeft)
		return
	}
	x.end(errCut)
	if why, ok := errors.AsType[*url.Error](err); ok { // whose text has the URL, and so the query
		err = why.Err
	}
	t.opts.Log.Warn().Err(loggable(err)).Str("upstream", x.up.Name).Msg("upstream without an answer")
	refuse(w, http.StatusBadGateway, "the upstream "+x.up.Name+" ("+x.up.URL.Host+") gave no answer: "+err.Error())
}

// loggable returns an error for the log. The texts of others repeat what the upstream sent.
func loggable(err error) error {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var limit net.Error
	switch {
	case errors.As(err, &op):
		return op
	case errors.As(err, &certificate):
		return certificate
	case errors.As(err, &limit) && limit.Timeout():
		return limit
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	return errors.New("what it sent is no answer of HTTP")
}

// refuse answers in the form of the errors of OpenAI and Anthropic, which their clients
// print.
func refuse(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"type": "streamer_tap", "message": "streamer tap: " + text}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, _ := json.Marshal(v) // texts only
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// sentBody is the body of a request, and knows whether the client has sent all of it.
type sentBody struct {
	io.ReadCloser
	ended atomic.Bool
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

// answerWriter writes an answer without what net/http would add.
type answerWriter struct {
	http.ResponseWriter
	sent    *sentBody
	repairs string
}

func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *answerWriter) WriteHeader(status int) {
	if h := w.Header(); status >= http.StatusOK {
		for _, name := range []string{"Content-Type", "Date"} {
			if _, ok := h[name]; !ok {
				h[name] = nil
			}
		}
		if w.repairs != "" {
			h.Set(HeaderRepair, w.repairs)
		}
		// In full duplex net/http panics if it reads the rest of a body, and waits for
		// the next request after it.
		if !w.sent.ended.Load() {
			h.Set("Connection", "close")
		}
	}
	w.ResponseWriter.WriteHeader(status)
	if status >= http.StatusOK {
		// An answer that is cut before its first byte has a header.
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// Hijack returns a connection that begins with the bytes that came with the handshake,
// which ReverseProxy ignores.
func (w *answerWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return conn, rw, err
	}
	if n := rw.Reader.Buffered(); n > 0 {
		early, _ := rw.Peek(n)
		conn = &earlyConn{Conn: conn, early: bytes.NewReader(bytes.Clone(early))}
	}
	return conn, rw, nil
}

type earlyConn struct {
	net.Conn
	early *bytes.Reader
}

func (c *earlyConn) Read(p []byte) (int, error) {
	if c.early.Len() > 0 {
		return c.early.Read(p)
	}
	return c.Conn.Read(p)
}

// CloseWrite passes on the end of one direction.
func (c *earlyConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// buffers are those of copying answers.
type buffers struct{ pool sync.Pool }

const copyBuffer = 32 << 10

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return p[:]
	}
	return make([]byte, copyBuffer)
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[copyBuffer]byte)(p)) }
