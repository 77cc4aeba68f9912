package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"streamer/internal/pack"
)

// pagePolicy restricts the page to this server.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// asset is a file of the page in memory.
type asset struct {
	contentType string
	plain       variant
	packed      func() []variant // the compressed forms, the preferred first; made when first needed
}

// variant is one form of an asset.
type variant struct {
	encoding string // the value of Content-Encoding
	etag     string // differs between the forms
	data     []byte
}

// newAsset returns the file of the given name.
func newAsset(name string, data []byte) asset {
	return asset{
		contentType: contentType(name),
		plain:       newVariant("", data),
		packed: sync.OnceValue(func() (packed []variant) {
			forms, err := pack.Forms(name, data)
			if err != nil {
				return nil // writing to memory does not fail
			}
			for _, f := range forms {
				packed = append(packed, newVariant(f.Encoding, f.Data))
			}
			return packed
		}),
	}
}

func newVariant(encoding string, data []byte) variant {
	return variant{encoding, etagOf(data), data}
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

// etagOf returns the ETag of a content.
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

// serveAsset serves a file of the page.
func (g *Gateway) serveAsset(w http.ResponseWriter, r *http.Request) error {
	a, ok := g.page[r.URL.Path]
	if !ok {
		return refuse(http.StatusNotFound, fmt.Sprintf("not found: %s", strings.ToValidUTF8(r.URL.Path, "?")))
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
	form := a.plain
	if packed := a.packed(); len(packed) > 0 {
		h.Add("Vary", "Accept-Encoding")
		form = preferred(packed, a.plain, r.Header.Values("Accept-Encoding"))
	}
	if form.encoding != "" {
		h.Set("Content-Encoding", form.encoding)
	}
	h.Set("ETag", form.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(form.data))
	return nil
}

// preferred returns the first form whose encoding the values of Accept-Encoding name;
// the plain one if there is none.
func preferred(packed []variant, plain variant, values []string) variant {
	for _, form := range packed {
		if accepts(form.encoding, values) {
			return form
		}
	}
	return plain
}

// accepts reports whether the values of Accept-Encoding name the encoding, with a
// weight above zero.
func accepts(encoding string, values []string) bool {
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
