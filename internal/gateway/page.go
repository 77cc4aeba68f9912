package gateway

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"streamer/internal/gateway/respond"
)

// pagePolicy restricts the page to this server, and to images that are part of a value.
const pagePolicy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// asset is a file of the page. Its forms are in the order of preference, the one without an
// encoding last.
type asset struct {
	contentType string
	forms       []form
}

type form struct {
	encoding string // gzip, br, or "" for none
	data     []byte
	etag     string
}

// add adds the form of the asset in data.
func (a *asset) add(encoding string, data []byte) error {
	a.forms = append(a.forms, form{encoding, data, etagOf(data)})
	if encoding != "gzip" {
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return a.add("", plain)
}

// readPage reads all files of the page. Of a file that ends with .gz the gateway also serves
// the plain form, and the form in the file with .br, if there is one. No request path is ever
// resolved in a file system.
func readPage(page fs.FS) (map[string]*asset, error) {
	assets := map[string]*asset{}
	if page == nil {
		return assets, nil
	}
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error { // in lexical order: br, gzip
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(page, name)
		if err != nil {
			return err
		}
		base, encoding := encodingOf("/" + name)
		if assets[base] == nil {
			assets[base] = &asset{contentType: contentType(base)}
		}
		return assets[base].add(encoding, data)
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: page: %w", err)
	}
	if index := assets["/index.html"]; index != nil {
		assets["/"] = index
	}
	return assets, nil
}

// encodingOf returns the path at which a file is served, and the name of its encoding.
func encodingOf(name string) (base, encoding string) {
	if base, ok := strings.CutSuffix(name, ".br"); ok {
		return base, "br"
	}
	if base, ok := strings.CutSuffix(name, ".gz"); ok {
		return base, "gzip"
	}
	return name, ""
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
	best := a.forms[len(a.forms)-1]
	if len(a.forms) > 1 {
		h.Add("Vary", "Accept-Encoding")
	}
	for _, f := range a.forms {
		if f.encoding != "" && accepts(r.Header.Values("Accept-Encoding"), f.encoding) {
			h.Set("Content-Encoding", f.encoding)
			best = f
			break
		}
	}
	h.Set("ETag", best.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(best.data))
	return nil
}

// accepts reports whether the values of Accept-Encoding name an encoding with a weight
// above zero.
func accepts(values []string, encoding string) bool {
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), encoding) {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
		return !found || strings.Trim(q, "0.") != ""
	}
	return false
}
