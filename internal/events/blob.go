package events

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// BlobChunk is the size in bytes of the chunks of a blob, and the size above
// which a value becomes a blob.
const BlobChunk = 64 << 10

const previewBytes = 256

// Blob is a large value that has to be stored.
type Blob struct {
	Ref  Ref
	Data []byte
}

// Ref replaces, in an event, a value that is stored beside the event log. The
// value is the concatenation of its chunks. Each chunk has BlobChunk bytes,
// except the last, and is named by its own SHA-256 in hex.
type Ref struct {
	Size    int      `json:"size"`
	SHA256  string   `json:"sha256"` // of the whole value
	Preview string   `json:"preview"`
	Chunks  []string `json:"chunks"`
}

// NewBlob returns a blob with the names of data and of its chunks.
func NewBlob(data []byte) Blob {
	ref := Ref{Size: len(data), SHA256: digest(data), Preview: preview(data)}
	for rest := data; len(rest) > 0; {
		n := min(BlobChunk, len(rest))
		ref.Chunks = append(ref.Chunks, digest(rest[:n]))
		rest = rest[n:]
	}
	return Blob{Ref: ref, Data: data}
}

// Chunk returns the bytes of the i-th chunk.
func (b Blob) Chunk(i int) []byte {
	return b.Data[i*BlobChunk : min((i+1)*BlobChunk, len(b.Data))]
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// preview returns the beginning of data, without an incomplete character at its
// end.
func preview(data []byte) string {
	p := data[:min(previewBytes, len(data))]
	for i := 0; i < utf8.UTFMax && len(p) > 0 && !utf8.Valid(p); i++ {
		p = p[:len(p)-1]
	}
	return string(p)
}
