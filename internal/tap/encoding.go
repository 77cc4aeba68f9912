package tap

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxDecoded bounds the bytes of the decompressed copy of an answer: a small body can become
// endless. That of a request is in memory as a whole, and has at most maxRequest.
const maxDecoded = 256 << 20

// decoded returns a reader of at most limit bytes of a copy without its content encodings.
// It returns bytes as soon as the sender has flushed them.
func decoded(src io.Reader, encodings string, limit int) (io.Reader, error) {
	list := strings.Split(encodings, ",")
	for i := len(list) - 1; i >= 0; i-- {
		var err error
		switch name := strings.ToLower(strings.TrimSpace(list[i])); name {
		case "", "identity":
		case "gzip", "x-gzip":
			src, err = gzip.NewReader(src)
		case "deflate":
			src, err = inflate(src)
		case "br":
			src = brotli.NewReader(src)
		case "zstd":
			var d *zstd.Decoder
			d, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20))
			if err == nil {
				src = d.IOReadCloser()
			}
		default:
			err = fmt.Errorf("unknown content encoding %.20q", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return &limited{src, limit}, nil
}

// inflate reads the encoding deflate: zlib, or what some servers send, deflate without its
// header.
func inflate(src io.Reader) (io.Reader, error) {
	b := bufio.NewReader(src)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// limited reads at most left bytes. What follows is lost.
type limited struct {
	src  io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLost
	}
	n, err := l.src.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
