package archive

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"streamer/internal/events"
)

// File describes a file of an archive, as its name does.
type File struct {
	Label string    // of the session
	Last  time.Time // of the last event, in milliseconds
	ID    events.ID // of the last event
	Count int       // number of events
	Hash  string    // of the lines
}

const suffix = ".jsonl.gz"

// Name returns the name of the file: DAY/LABEL.MILLISECONDS.ID.COUNT.HASH.jsonl.gz, where
// ID has a dash.
func (f File) Name() string {
	id := strings.Replace(f.ID.String(), ".", "-", 1)
	return fmt.Sprintf("%s/%s.%d.%s.%d.%s%s", f.Last.UTC().Format(time.DateOnly), f.Label, f.Last.UnixMilli(), id, f.Count, f.Hash, suffix)
}

func parseName(name string) (f File, ok bool) {
	_, base, _ := strings.Cut(name, "/")
	base, isArchive := strings.CutSuffix(base, suffix)
	parts := strings.Split(base, ".")
	if !isArchive || len(parts) != 5 {
		return f, false
	}
	at, err1 := strconv.ParseInt(parts[1], 10, 64)
	id, err2 := events.ParseID(strings.Replace(parts[2], "-", ".", 1))
	count, err3 := strconv.Atoi(parts[3])
	return File{parts[0], time.UnixMilli(at), id, count, parts[4]}, err1 == nil && err2 == nil && err3 == nil
}

// EndsWith reports whether an event is the last one of the file.
func (f File) EndsWith(e *events.Event) bool {
	return f.ID == e.EventID && f.Last.UnixMilli() == e.Timestamp.Std().UnixMilli()
}

// maxLabel is the number of bytes of a token in a name. A name has at most 255.
const maxLabel = 120

// Label returns the part of names for a session: its token, or the beginning and a hash of
// a long one.
func Label(token string) string {
	if len(token) <= maxLabel {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return token[:maxLabel] + "~" + hex.EncodeToString(sum[:16])
}

// Part collects lines for a file.
type Part struct {
	file    File // without the hash
	content bytes.Buffer
	gzip    *gzip.Writer
	hash    hash.Hash
}

// NewPart returns an empty part of the session with a token.
func NewPart(token string) *Part {
	p := &Part{file: File{Label: Label(token)}, hash: sha256.New()}
	p.gzip = gzip.NewWriter(&p.content)
	return p
}

// Add adds an event, whose line is body.
func (p *Part) Add(e *events.Event, body []byte) error {
	p.file.Count++
	p.file.ID, p.file.Last = e.EventID, e.Timestamp.Std()
	addLine(p.hash, body)
	_, err := fmt.Fprintf(p.gzip, "%s\n", body)
	return err
}

// Len returns the number of events.
func (p *Part) Len() int { return p.file.Count }

// Size returns the number of compressed bytes, without those that are not compressed yet.
func (p *Part) Size() int { return p.content.Len() }
