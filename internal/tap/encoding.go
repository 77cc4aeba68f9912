package tap

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/cespare/xxhash/v2"
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

// continued returns the bytes with which a compressed body goes on to its end, behind what was
// sent: they decompress to tail. It reports false where what was sent does not end with a
// whole byte of the encoding, as after a flush.
func continued(encoding string, sent, plain, tail []byte) ([]byte, bool) {
	name := strings.ToLower(strings.TrimSpace(encoding))
	if name == "" || name == "identity" {
		return tail, true
	}
	if len(sent) == 0 {
		return compress(name, tail)
	}
	if len(tail) > 0xffff {
		return nil, false
	}
	n := len(tail)
	stored := append([]byte{1, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)}, tail...) // of RFC 1951
	whole := slices.Concat(plain, tail)
	var more []byte
	switch name {
	case "gzip", "x-gzip":
		more = binary.LittleEndian.AppendUint32(stored, crc32.ChecksumIEEE(whole))
		more = binary.LittleEndian.AppendUint32(more, uint32(len(whole))) //nolint:gosec // modulo 2^32
	case "deflate":
		if more = stored; sent[0]&0x0f == 8 {
			more = binary.BigEndian.AppendUint32(stored, adler32.Checksum(whole))
		}
	case "br": // RFC 7932: an uncompressed meta-block, and the empty last one
		if more = []byte{3}; n > 0 {
			head := uint32(n-1)<<3 | 1<<19
			more = append(append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, tail...), 3)
		}
	case "zstd": // RFC 8878: a raw block, the last one, and the checksum
		head := uint32(n)<<3 | 1 //nolint:gosec // it fits
		more = append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, tail...)
		if len(sent) > 4 && sent[4]&4 != 0 {
			more = binary.LittleEndian.AppendUint32(more, uint32(xxhash.Sum64(whole))) //nolint:gosec // its lower half
		}
	default:
		return nil, false
	}
	d, err := decoded(bytes.NewReader(slices.Concat(sent, more)), encoding, maxDecoded)
	if err != nil {
		return nil, false
	}
	got, err := io.ReadAll(d)
	return more, err == nil && bytes.Equal(got, whole)
}

// compress returns a text in an encoding.
func compress(name string, text []byte) ([]byte, bool) {
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)) // without options that fail
	default:
		return nil, false
	}
	_, err := w.Write(text)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err == nil
}
