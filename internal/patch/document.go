package patch

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"streamer/internal/jsonscan"

	"github.com/tidwall/gjson"
)

// document is the text of a history: its messages, and the text around them.
type document struct {
	text     string
	messages []span
	list     bool   // a JSON list, otherwise one message per line
	field    string // "messages", "contents" or "input" if the list is in an object
	from, to int    // the inside of the list, or all lines

	continues   bool // it continues another history, which may have the calls of its results
	maxMessages int
}

type span struct{ from, to int }

func (d *document) at(m int) string { return d.text[d.messages[m].from:d.messages[m].to] }

func parse(text string, limits Limits) (document, error) {
	d := document{text: text, maxMessages: limits.Messages}
	if len(text) > limits.Bytes {
		return d, overLimit("patch: the history has %d bytes, more than %d", len(text), limits.Bytes)
	}
	if !utf8.ValidString(text) {
		return d, fmt.Errorf("patch: not UTF-8 at byte %d", jsonscan.InvalidUTF8(text))
	}
	if at := jsonscan.TooDeep(text, limits.Depth); at >= 0 { // also if the text is not JSON
		return d, overLimit("patch: the history is nested deeper than %d at byte %d", limits.Depth, at)
	}
	start := blank(text)
	if start == len(text) {
		return d, fmt.Errorf("patch: not a history: it is empty")
	}
	var err error
	switch {
	case text[start] == '[' && gjson.Valid(text):
		err = d.readItems(start, strings.LastIndexByte(text, ']')+1)
	case text[start] == '{' && gjson.Valid(text):
		err = d.readObject(start)
	case text[start] == '{' && d.isLines():
		err = d.readLines()
	case gjson.Valid(text):
		err = fmt.Errorf("patch: not a history: it is %s, not a list", describeKind(text[start:]))
	default:
		err = syntaxError(text, 0, "")
	}
	return d, err
}

// add adds the next message. A value that is not an object is an error.
func (d *document) add(from, to int) error {
	n := len(d.messages)
	switch {
	case n == d.maxMessages:
		return overLimit("patch: the history has more than %d messages", n)
	case d.text[from] != '{':
		return fmt.Errorf("patch: not a history: message %d (byte %d) is %s, not an object", n, from, describeKind(d.text[from:to]))
	}
	d.messages = append(d.messages, span{from, to})
	return nil
}

func (d *document) readItems(from, to int) error {
	d.list, d.from, d.to = true, from+1, to-1
	for e := jsonscan.ValueOf(d.text[from:to]).Elements(); e.Next(); {
		at := from + e.Offset()
		if err := d.add(at, at+len(e.Value.Raw)); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) readObject(start int) error {
	object := d.text[start:]
	for _, field := range []string{"messages", "contents", "input"} {
		list, from := "", 0 // of several members of that name, the last counts
		for m := jsonscan.ValueOf(object).Members(); m.Next(); {
			if m.Key == field {
				list, from = m.Value.Raw, start+m.Offset()
			}
		}
		if list == "" {
			continue
		}
		if list[0] != '[' {
			return fmt.Errorf("patch: not a history: %q is %s, not a list", field, describeKind(list))
		}
		d.field = field
		d.continues = field == "input" && (hasText(object, "previous_response_id") || hasText(object, "conversation"))
		return d.readItems(from, from+len(list))
	}
	switch {
	case member(member(object, "state"), "messages") != "":
		return fmt.Errorf(`patch: not a history: the object has its messages in "state", as stored by sagents; pass that object`)
	case member(object, "role") == "" && member(object, "type") == "":
		return fmt.Errorf(`patch: not a history: the object has no "messages", "contents" or "input", and is not a message`)
	}
	return d.readLines()
}

// hasText reports whether an object has a member that is neither null nor "".
func hasText(object, name string) bool { return text(member(object, name)) != "" }

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
		if from := blank(line); from < len(line) {
			if !gjson.Valid(line) {
				return syntaxError(line, at, fmt.Sprintf("line %d: ", number))
			}
			if err := d.add(at+from, at+from+len(strings.TrimRight(line[from:], " \t\r"))); err != nil {
				return err
			}
		}
		at += end + 1
	}
	return nil
}

func (d *document) separator() string {
	switch {
	case len(d.messages) > 1:
		return d.text[d.messages[0].to:d.messages[1].from]
	case d.list:
		return ","
	}
	return "\n"
}

func syntaxError(text string, offset int, where string) error {
	err := jsonscan.Check(text)
	at := " at byte "
	if err.Offset == len(text) { // the text ends too early
		at = "," + at
	}
	return fmt.Errorf("patch: not a history: %s%s%s%d", where, err.Msg, at, offset+err.Offset)
}

func describeKind(value string) string {
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
