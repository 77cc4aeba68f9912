package tap

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// maxPiece is the length from which the bytes of one event are published in pieces.
const maxPiece = 512 << 10

// framing returns a function that returns how many bytes at the beginning of a text are whole
// events, by the content type of the answer. The first seen bytes are known to have none.
func framing(contentType string) func(b []byte, seen int) int {
	switch mediaType(contentType) {
	case "text/event-stream":
		return wholeSSE
	case "application/x-ndjson", "application/jsonl", "application/x-jsonlines":
		return func(b []byte, seen int) int {
			if i := bytes.LastIndexByte(b[seen:], '\n'); i >= 0 {
				return seen + i + 1
			}
			return 0
		}
	case "application/vnd.amazon.eventstream":
		return wholeMessages
	}
	return func(b []byte, _ int) int { return len(b) } // a JSON value, which may be cut anywhere
}

// mediaType returns a content type without its parameters, in lower case.
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// betweenCharacters returns the largest number of bytes up to n that end with a whole
// character. Bytes that are no UTF-8 are cut at n.
func betweenCharacters(b []byte, n int) int {
	for i := n - 1; i >= max(0, n-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:n]) {
				return n
			}
			return i
		}
	}
	return n
}

// wholeSSE cuts behind the last blank line.
func wholeSSE(b []byte, seen int) int {
	n, from := 0, max(0, seen-2)
	for _, end := range []string{"\n\n", "\n\r\n", "\r\r"} {
		if i := bytes.LastIndex(b[from:], []byte(end)); i >= 0 {
			n = max(n, from+i+len(end))
		}
	}
	return n
}

// wholeMessages cuts behind the last whole message of an AWS event stream, which begins with
// its length:
// https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html
func wholeMessages(b []byte, _ int) int {
	n := 0
	for len(b)-n >= 4 {
		length := int(binary.BigEndian.Uint32(b[n:]))
		if length < 16 || length > len(b)-n {
			break
		}
		n += length
	}
	return n
}
