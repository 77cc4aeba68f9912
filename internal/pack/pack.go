// Package pack makes the compressed forms of the files of a page.
//
// The compressed forms of scripts and style sheets have no comments and no indentation.
// The uncompressed form remains the source, which can be read and copied.
package pack

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"

	"github.com/andybalholm/brotli"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// quality is that of brotli: the highest. It saves 7 % and takes about 10 ms per file,
// once in a process.
const quality = brotli.BestCompression

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

// Compact returns the content of a file without comments and without spaces that have
// no meaning. The names in scripts stay, so that a debugger shows those of the source.
// Files other than scripts and style sheets stay as they are.
func Compact(name string, data []byte) ([]byte, error) {
	var out bytes.Buffer
	var err error
	switch path.Ext(name) {
	case ".js", ".mjs":
		err = (&js.Minifier{KeepVarNames: true}).Minify(minify.New(), &out, bytes.NewReader(data), nil)
	case ".css":
		err = (&css.Minifier{}).Minify(minify.New(), &out, bytes.NewReader(data), nil)
	default:
		return data, nil
	}
	return out.Bytes(), err
}

func compress(encoding string, data []byte) ([]byte, error) {
	var packed bytes.Buffer
	var w io.WriteCloser = brotli.NewWriterLevel(&packed, quality)
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
