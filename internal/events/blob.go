package events

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// BlobChunk is the size in bytes of the pieces a blob is stored in, and the
// size from which a value becomes one.
const BlobChunk = 64 << 10

const previewBytes = 256

// Blob is a large value on its way to the store.
type Blob struct {
	Ref  Ref
	Data []byte
}

// Ref stands in an event for a value that is stored beside the log. The value
// is the concatenation of its chunks, each of BlobChunk bytes but the last,
// each named by its own SHA-256 in hex.
type Ref struct {
	Size    int      `json:"size"`
	SHA256  string   `json:"sha256"` // of the whole value
	Preview string   `json:"preview"`
	Chunks  []string `json:"chunks"`
}

// NewBlob names data and its chunks.
func NewBlob(data []byte) Blob {
	ref := Ref{Size: len(data), SHA256: digest(data), Preview: preview(data)}
	for rest := data; len(rest) > 0; {
		n := min(BlobChunk, len(rest))
		ref.Chunks = append(ref.Chunks, digest(rest[:n]))
		rest = rest[n:]
	}
	return Blob{Ref: ref, Data: data}
}

// Chunk gives the bytes of the i-th chunk.
func (b Blob) Chunk(i int) []byte {
	return b.Data[i*BlobChunk : min((i+1)*BlobChunk, len(b.Data))]
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// preview is the beginning of data, cut before a broken character.
func preview(data []byte) string {
	p := data[:min(previewBytes, len(data))]
	for i := 0; i < utf8.UTFMax && len(p) > 0 && !utf8.Valid(p); i++ {
		p = p[:len(p)-1]
	}
	return string(p)
}
