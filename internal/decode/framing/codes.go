package framing

import (
	"fmt"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// The data stream of the AI SDK 4 is a line protocol: each event is a line CODE:JSON.
// The code is read as the name of the event and the JSON as its data.
//
// The text may be cut anywhere between inputs. The cut line is part of the State. A line
// ends at a newline, and also at the end of an input where its JSON is one complete value
// that nothing can continue. Publishers may therefore omit the newline.
//
// While a line is cut, an input that is independent (another such line, whole JSON, or an
// SSE field) continues it only if the JSON stays a prefix of JSON. Otherwise the cut line
// is lost and reported, and the input is read alone. An input that is not independent
// always continues the line.

// Code is a line of the form CODE:JSON that was cut between two inputs.
type Code struct {
	Text []byte // the line so far
	Skip bool   // the line was too long; its rest is skipped

	scan jsonscan.Scanner // has read a prefix of the JSON; empty after loading
}

func (c *Code) fields(f *stored.Fields) {
	f.Bytes("t", &c.Text)
	f.Flag("k", &c.Skip)
}

func (c *Code) status() jsonscan.Status {
	_, data, ok := cutCode(wire.Alias(c.Text))
	if !ok {
		return jsonscan.More
	}
	return c.scan.Write(data[min(c.scan.Offset(), len(data)):])
}

func (c *Code) continues(data string) bool {
	independent := beginsCode(data) || beginsField(data) != "" || beginsJSON(data)
	return !independent || !c.Skip && c.accepts(data)
}

func (c *Code) accepts(data string) bool {
	first, _, _ := strings.Cut(data, "\n")
	if _, _, ok := cutCode(wire.Alias(c.Text)); !ok {
		line := string(c.Text) + first[:min(len(first), maxCode)]
		return IsCode(line) || beginsCode(line)
	}
	c.status()
	scan := c.scan
	return scan.Write(strings.TrimSuffix(first, "\r")) != jsonscan.Bad
}

// extensions is the prefix of the codes that assistant-ui adds.
const extensions = "aui-"

// maxCode is the maximum number of bytes of a code and its colon.
const maxCode = 32

// IsCode reports whether a name is a code. Codes that this version does not read are
// included.
func IsCode(name string) bool {
	switch {
	case len(name) == 1:
		return name[0] >= '0' && name[0] <= '9' || name[0] >= 'a' && name[0] <= 'z'
	case len(name) >= maxCode || !strings.HasPrefix(name, extensions):
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// cutCode returns the code and the JSON of a line. It reports false where the line does
// not begin with a code and a colon.
func cutCode(line string) (code, data string, ok bool) {
	colon := strings.IndexByte(line[:min(len(line), maxCode)], ':')
	if colon < 0 || !IsCode(line[:colon]) {
		return "", line, false
	}
	return line[:colon], line[colon+1:], true
}

// beginsCode reports whether an input alone is a line of a code, whole or cut in its
// JSON. No other framing has such a line.
func beginsCode(data string) bool {
	code, data, ok := cutCode(blankless(data))
	return ok && code <= "k" && data != "" && (data[0] == '"' || data[0] == '{' || data[0] == '[')
}

// blankless returns an input without the blank lines and the byte order mark at its
// beginning.
func blankless(data string) string {
	return strings.TrimLeft(strings.TrimPrefix(data, wire.BOM), "\r\n")
}

// beginsCodes reports whether an input begins with lines of codes, if no line was cut.
// The first line may be cut before its JSON where the session has such a stream, or
// where it has no format yet.
func (r *Reader) beginsCodes(data string) bool {
	if beginsCode(data) {
		return true
	}
	text := blankless(data)
	code := strings.TrimSuffix(text, ":")
	if r.Formats.Format() == "" {
		return IsCode(code)
	}
	_, _, ok := cutCode(text)
	return r.Formats.Format() == codeFormat && (ok || IsCode(code) || code != "" && strings.HasPrefix(extensions, code))
}

// continuesCode reports whether an input continues a line of a code that the last input
// cut.
func (r *Reader) continuesCode(data string) bool {
	s := r.Cut
	if s.Code == nil {
		return false
	}
	if s.Code.continues(data) {
		return true
	}
	r.Wrong = &wire.Problem{Code: wire.BadJSON, Text: fmt.Sprintf("a line was cut off after %d bytes and never continued", len(s.Code.Text))}
	if s.Code.Skip {
		r.Wrong = nil // it was reported
	}
	s.Code = nil
	return false
}

// nextCode returns the next line that is not blank, and keeps the last one if it is cut.
func (r *Reader) nextCode() (Event, bool) {
	in := &r.in
	for in.at < len(in.data) {
		start := in.at
		line, _, ended := strings.Cut(in.data[start:], "\n")
		in.at += len(line)
		if ended {
			in.at++
		}
		p := codeEvent(line, start)
		switch {
		case r.Cut.Code != nil:
			if p, ok := r.growCode(line, ended); ok {
				return p, true
			}
		case p.Text == "" && p.Name == "":
		case ended || p.Name != "" && complete(p.Text):
			return p, true
		default:
			r.Cut.Code = new(Code)
			if p, ok := r.growCode(line, false); ok {
				return p, true
			}
		}
	}
	return Event{}, false
}

// complete reports whether nothing can continue the JSON in a text.
func complete(text string) bool {
	var scan jsonscan.Scanner
	return scan.Write(text) == jsonscan.Done
}

// growCode adds text to the cut line. It returns the event of the line where the line is
// complete, or its Problem where it is too long.
func (r *Reader) growCode(text string, ended bool) (Event, bool) {
	c := r.Cut.Code
	if c.Skip {
		if ended {
			r.Cut.Code = nil
		}
		return Event{}, false
	}
	c.Text = append(c.Text, text...)
	switch {
	case ended || c.status() == jsonscan.Done:
		r.Cut.Code = nil // the chunks share its bytes from here on
		p := codeEvent(wire.Alias(c.Text), 0)
		p.Joined = true
		return p, p.Name != "" || p.Text != ""
	case len(c.Text) > r.limit:
		r.Cut.Code = &Code{Skip: true}
		return Event{Problem: r.tooLong()}, true
	}
	return Event{}, false
}

// codeEvent returns the event of a line. A line that does not begin with a code is read
// as an event without a name.
func codeEvent(line string, base int) Event {
	line, base = cutBOM(line, base)
	code, data, ok := cutCode(line)
	if !ok {
		return trimmed(line, base)
	}
	p := trimmed(data, base+len(code)+1)
	p.Name = code
	return p
}
