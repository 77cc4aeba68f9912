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
	views    []string // what a format reads in place of the messages, nil for the messages
	order    []int    // their indices in the text, nil if they are in its order
	list     bool     // a JSON list, otherwise one message per line
	field    string   // the member with the list, if it is in an object
	from, to int      // the inside of the list, or all lines

	continues   bool // it continues another history, which may have the calls of its results
	maxMessages int
}

type span struct{ from, to int }

func (d *document) at(m int) string {
	if d.views != nil {
		return d.views[m]
	}
	return d.text[d.messages[m].from:d.messages[m].to]
}

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
	at, err := d.findList(d.text[start:], start)
	switch {
	case at.to > 0:
		return d.readItems(at.from, at.to)
	case err != nil:
		return err
	case member(member(d.text[start:], "state"), "messages") != "":
		return fmt.Errorf(`patch: not a history: the object has its messages in "state", as stored by sagents; pass that object`)
	case member(d.text[start:], "role") == "" && member(d.text[start:], "type") == "":
		return d.named(fmt.Errorf(`patch: not a history: the object has no "messages", "contents", "input", "items", "output" or "data", and is not a message`))
	}
	return d.readLines()
}

// lists returns the names of the member that may have the list of messages. A message may
// have the last three.
func lists() []string { return []string{"messages", "contents", "input", "items", "output", "data"} }

// findList returns the place of the list in an object that begins at start. The values of
// a graph's state are an object that has it.
func (d *document) findList(object string, start int) (at span, err error) {
	found := map[string]span{} // of several members of that name, the last counts
	for m := jsonscan.ValueOf(object).Members(); m.Next(); {
		from := start + m.Offset()
		found[m.Key] = span{from, from + len(m.Value.Raw)}
	}
	value := func(name string) string { return d.text[found[name].from:found[name].to] }
	message := value("role") != "" || value("type") != ""
	for i, name := range lists() {
		switch list := value(name); {
		case list == "", message && i > 2, d.field != "" && !couldHold(list, maxHeld):
		case d.field != "":
			return span{}, fmt.Errorf("patch: the object has two lists, %q and %q; pass one of them", d.field, name)
		case list[0] == '[':
			d.field, at = name, found[name]
			d.continues = name == "input" && (hasText(object, "previous_response_id") || hasText(object, "conversation"))
		case !message && err == nil:
			err = fmt.Errorf("patch: not a history: %q is %s, not a list", name, describeKind(list))
		}
	}
	if values := value("values"); d.field == "" && strings.HasPrefix(values, "{") {
		return d.findList(values, found["values"].from)
	}
	return at, err
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
