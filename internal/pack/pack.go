// Package pack makes the compressed forms of the files of a page.
//
// The compressed forms have no comments and no indentation, and short names of local
// variables. The uncompressed form remains the source, which can be read and copied.
package pack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/andybalholm/brotli"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/html"
	"github.com/tdewolff/minify/v2/js"
	"github.com/tdewolff/minify/v2/svg"
)

// best saves 6 % more than the qualities up to 9, and takes ten times as long: half a
// second for the whole page, once.
const best = 11

// window is the binary logarithm of the window: a file is smaller, and a larger window
// takes longer to prepare.
const window = 16

// Form is one encoding of a file.
type Form struct {
	Encoding string // the value of Content-Encoding
	Data     []byte
}

// Forms returns the compressed forms of the file of the given name, the smallest
// first. It omits those that are not smaller than the file.
func Forms(name string, data []byte) ([]Form, error) {
	short, err := Compact(name, data)
	if err != nil {
		short = data // an incorrect file is served as it is
	}
	var forms []Form
	for _, encoding := range []string{"br", "gzip"} {
		packed, err := compress(encoding, short)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", encoding, err)
		}
		if len(packed) < len(data) {
			forms = append(forms, Form{encoding, packed})
		}
	}
	return forms, nil
}

// Compact returns the content of a file without what a browser does not need. Files of
// other types than HTML, CSS, JavaScript and SVG stay as they are.
func Compact(name string, data []byte) ([]byte, error) {
	m := minify.New()
	m.AddFunc(".css", css.Minify)
	m.AddFunc(".js", js.Minify)
	m.AddFunc(".mjs", js.Minify)
	m.AddFunc(".svg", svg.Minify)
	m.Add(".html", &html.Minifier{KeepDocumentTags: true})
	short, err := m.Bytes(path.Ext(name), bytes.Clone(data)) // it changes its argument
	if errors.Is(err, minify.ErrNotExist) {
		return data, nil
	}
	return short, err
}

func compress(encoding string, data []byte) ([]byte, error) {
	var packed bytes.Buffer
	var w io.WriteCloser = brotli.NewWriterOptions(&packed, brotli.WriterOptions{Quality: best, LGWin: window})
	if encoding == "gzip" {
		var err error
		if w, err = gzip.NewWriterLevel(&packed, gzip.BestCompression); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
