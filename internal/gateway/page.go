package gateway

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"streamer/internal/gateway/respond"
)

// pagePolicy restricts the page to this server.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

type asset struct {
	contentType  string
	plain, gzip  []byte // gzip is nil if it is not smaller
	etag, zipped string // ETags of the two forms
}

func newAsset(name string, data []byte) asset {
	a := asset{contentType: contentType(name), plain: data, etag: etagOf(data)}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	if zipped.Len() < len(data) {
		a.gzip, a.zipped = zipped.Bytes(), etagOf(zipped.Bytes())
	}
	return a
}

// readPage reads all files of the page. No request path is ever resolved in a file
// system.
func readPage(page fs.FS) (map[string]asset, error) {
	assets := map[string]asset{}
	if page == nil {
		return assets, nil
	}
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(page, name)
		if err != nil {
			return err
		}
		a := newAsset(name, data)
		assets["/"+name] = a
		if name == "index.html" {
			assets["/"] = a
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: page: %w", err)
	}
	return assets, nil
}

func etagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// contentType returns the type of a file of the page. It does not depend on the
// machine.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".json":
		return "application/json"
	case ".woff2":
		return "font/woff2"
	}
	return "application/octet-stream"
}

func (g *Gateway) serveAsset(w http.ResponseWriter, r *http.Request) error {
	a, ok := g.page[r.URL.Path]
	if !ok {
		return respond.Refuse(http.StatusNotFound, fmt.Sprintf("not found: %s", strings.ToValidUTF8(r.URL.Path, "?")))
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuseMethod(w, r, "GET, HEAD", "GET")
		return nil
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-cache")
	data, etag := a.plain, a.etag
	if a.gzip != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			data, etag = a.gzip, a.zipped
		}
	}
	h.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	return nil
}

// acceptsGzip reports whether the values of Accept-Encoding name gzip with a weight
// above zero.
func acceptsGzip(values []string) bool {
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
		return !found || strings.Trim(q, "0.") != ""
	}
	return false
}
