package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"streamer/internal/jsonscan"

	"github.com/tidwall/gjson"
)

// document is a history as text: messages, and what stands around them.
type document struct {
	text     string
	messages []span
	list     bool   // a JSON list, else one message a line
	field    string // "messages" or "input" where the list is in an object
	from, to int    // of the list's inside, or of all lines

	continues bool // what it answers may stand in another history
	most      int  // messages
}

// span is a part of the text.
type span struct{ from, to int }

func (d *document) at(m int) string { return d.text[d.messages[m].from:d.messages[m].to] }

// parse finds the messages of a history.
func parse(text string, limits Limits) (document, error) {
	d := document{text: text, most: limits.Messages}
	if len(text) > limits.Bytes {
		return d, tooMuch("patch: the history has %d bytes, more than %d", len(text), limits.Bytes)
	}
	if !utf8.ValidString(text) {
		return d, fmt.Errorf("patch: not UTF-8 at byte %d", badUTF8(text))
	}
	if err := shallow(text, limits.Depth); err != nil {
		return d, err
	}
	start := blank(text, 0)
	if start == len(text) {
		return d, fmt.Errorf("patch: not a history: it is empty")
	}
	var err error
	switch {
	case text[start] == '[':
		err = d.readList(start)
	case text[start] == '{' && gjson.Valid(text):
		err = d.readObject(start)
	case text[start] == '{' && d.isLines():
		err = d.readLines()
	case gjson.Valid(text):
		err = fmt.Errorf("patch: not a history: it is %s, not a list", kindOf(text[start:]))
	default:
		err = broken(text, 0, "")
	}
	if err != nil {
		return d, err
	}
	return d, nil
}

// add notes the next message, which has to be an object, and not too many.
func (d *document) add(from, to int) error {
	n := len(d.messages)
	switch {
	case n == d.most:
		return tooMuch("patch: the history has more than %d messages", n)
	case d.text[from] != '{':
		return fmt.Errorf("patch: not a history: message %d (byte %d) is %s, not an object", n, from, kindOf(d.text[from:to]))
	case n == sample: // the others may be as long as these
		rest := (len(d.text) - from) / ((from-d.messages[0].from)/sample + 1)
		d.messages = slices.Grow(d.messages, min(rest+rest/8, d.most))
	}
	d.messages = append(d.messages, span{from, to})
	return nil
}

// sample is the number of messages that tell how many there may be.
const sample = 64

func (d *document) readList(start int) error {
	if !gjson.Valid(d.text) {
		return broken(d.text, 0, "")
	}
	d.list = true
	d.from, d.to = start+1, strings.LastIndexByte(d.text, ']')
	return d.readItems(start, skip(d.text, start))
}

func (d *document) readItems(from, to int) error {
	list := d.text[from:to]
	for i := first(list, '['); i < len(list); {
		end := skip(list, i)
		if err := d.add(from+i, from+end); err != nil {
			return err
		}
		i = next(list, end)
	}
	return nil
}

// readObject reads a request that holds the history, or a history of one line.
func (d *document) readObject(start int) error {
	object := d.text[start:skip(d.text, start)]
	for _, field := range []string{"messages", "input"} {
		list := member(object, field)
		if list == "" {
			continue
		}
		if list[0] != '[' {
			return fmt.Errorf("patch: not a history: %q is %s, not a list", field, kindOf(list))
		}
		d.list, d.field = true, field
		d.continues = field == "input" && (says(object, "previous_response_id") || says(object, "conversation"))
		// list is a part of object, which is a part of text.
		from := start + partOf(object, field)
		d.from, d.to = from+1, from+len(list)-1
		return d.readItems(from, from+len(list))
	}
	if member(object, "role") == "" && member(object, "type") == "" {
		return fmt.Errorf(`patch: not a history: the object has neither "messages" nor "input", and is no message either`)
	}
	return d.readLines()
}

// says tells whether an object has a member that says something.
func says(object, name string) bool { return text(member(object, name)) != "" }

// partOf gives the place of the value of the object's last member of that name.
func partOf(object, name string) int {
	at := 0
	for i := first(object, '{'); i < len(object); {
		end := skip(object, i)
		from := blank(object, blank(object, end)+1)
		if text(object[i:end]) == name {
			at = from
		}
		i = next(object, skip(object, from))
	}
	return at
}

// isLines tells a history of one message a line from a broken object.
func (d *document) isLines() bool {
	line, rest, more := strings.Cut(strings.TrimLeft(d.text, " \n\t\r"), "\n")
	return more && gjson.Valid(line) && strings.TrimSpace(rest) != ""
}

func (d *document) readLines() error {
	d.to = len(d.text)
	for at, number := 0, 1; at < len(d.text); number++ {
		end := strings.IndexByte(d.text[at:], '\n')
		if end < 0 {
			end = len(d.text) - at
		}
		line := d.text[at : at+end]
		if from := blank(line, 0); from < len(line) {
			if !gjson.Valid(line) {
				return broken(line, at, fmt.Sprintf("line %d: ", number))
			}
			if err := d.add(at+from, at+from+len(strings.TrimRight(line[from:], " \t\r"))); err != nil {
				return err
			}
		}
		at += end + 1
	}
	return nil
}

// separator is what stands between two messages, where the history shows it.
func (d *document) separator() string {
	switch {
	case len(d.messages) > 1:
		return d.text[d.messages[0].to:d.messages[1].from]
	case d.list:
		return ","
	}
	return "\n"
}

// broken says what keeps text from being JSON, and where.
func broken(text string, offset int, where string) error {
	err := jsonscan.Check(text)
	at := " at byte "
	if err.Offset == len(text) { // the text ends too early
		at = "," + at
	}
	return fmt.Errorf("patch: not a history: %s%s%s%d", where, err.Msg, at, offset+err.Offset)
}

// shallow refuses text that is nested too deep, whether or not it is JSON.
func shallow(text string, limit int) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > limit {
				return tooMuch("patch: the history is nested deeper than %d at byte %d", limit, i)
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}

func badUTF8(s string) int {
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return len(s)
}

// kindOf says in words what a JSON value is.
func kindOf(value string) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
