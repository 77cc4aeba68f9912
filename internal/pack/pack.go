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
)

// quality is that of brotli. Higher ones up to 9 save 0.4 % and take ten times as long;
// 11 saves 7 % and takes twenty times as long.
const quality = 5

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
// no meaning. Other files than scripts and style sheets stay as they are.
func Compact(name string, data []byte) ([]byte, error) {
	switch path.Ext(name) {
	case ".js", ".mjs":
		return compactScript(data)
	case ".css":
		return compactStyle(data)
	}
	return data, nil
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
