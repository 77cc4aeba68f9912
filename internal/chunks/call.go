package chunks

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
	"unsafe"

	"streamer/internal/jsonscan"
)

// Call is one call as far as the model has said it.
type Call struct {
	Index string `json:"index,omitempty"` // raw JSON token, "" where the wire has none
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	// Text is the args so far, raw and valid UTF-8. Bytes that stand in it are
	// never changed: another text is another slice.
	Text  []byte `json:"text,omitempty"`
	*Rare        // nil for most

	scan   jsonscan.Scanner
	kept   int
	Joiner Joiner `json:"joiner,omitzero"`

	Provider bool `json:"provider,omitempty"`
	Final    bool `json:"final,omitempty"` // neither name nor id will change
	// Object: Text is an object the wire sent as such, not text of the model's.
	Object bool `json:"object,omitempty"`
	// Hold: Text is not told as it grows; an object will stand for it.
	Hold bool `json:"hold,omitempty"`
	// Sealed: the args are complete; nothing is added any more.
	Sealed bool `json:"sealed,omitempty"`
	// Closed: the call is over though its args were not complete.
	Closed Closing `json:"closed,omitempty"`
	// Cut: a fragment was over the limit, so that the text has a hole or no
	// end; nothing is added any more, and it is never valid.
	Cut bool `json:"cut,omitempty"`
}

// Closing is how far the args were when a call was closed from outside.
type Closing uint8

// The ways.
const (
	NotClosed Closing = iota
	// ClosedWhole: the text was one complete JSON value, or what would do as one.
	ClosedWhole
	// ClosedShort: the text ended in the middle. The model goes on with it.
	ClosedShort
)

// Rare is what few calls have: there may be many calls.
type Rare struct {
	Kind       string `json:"kind,omitempty"` // custom, mcp, server…; "" for function
	ParentCall string `json:"parent,omitempty"`
	// Weak is an object that holds only if no text comes.
	Weak string `json:"weak,omitempty"`
}

// Kind gives the kind of the call, "" for function.
func (c *Call) Kind() string {
	if c.Rare == nil {
		return ""
	}
	return c.Rare.Kind
}

// ParentCall gives the id of the call that made this one, "" for none.
func (c *Call) ParentCall() string {
	if c.Rare == nil {
		return ""
	}
	return c.Rare.ParentCall
}

func (c *Call) weak() string {
	if c.Rare == nil {
		return ""
	}
	return c.Weak
}

func (c *Call) rare() *Rare {
	if c.Rare == nil {
		c.Rare = new(Rare)
	}
	return c.Rare
}

// RawIndex gives the index as JSON; it must not be changed.
func (c *Call) RawIndex() json.RawMessage {
	return unsafe.Slice(unsafe.StringData(c.Index), len(c.Index))
}

// Shared gives bytes that are never changed, as those of Text, without a copy.
func Shared(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Kept gives how many bytes of Text are as they were before the last fragment,
// or Seal: fewer than there were where another text took its place.
func (c *Call) Kept() int { return c.kept }

// Resume makes a Call that was saved and loaded ready to go on.
func (c *Call) Resume() {
	c.scan = jsonscan.Scanner{}
	c.scan.Write(string(c.Text))
}

// add puts a fragment of this call to it.
func (c *Call) add(f *Chunk, id, name string, lim Limits) error {
	if c.Sealed && !c.silent(f) {
		if c.Closed != NotClosed {
			return ErrClosed
		}
		return ErrEnd
	}
	if !c.Sealed && c.overflows(f, lim) {
		c.Cut = true
		return ErrArgs
	}
	if name != c.Name && len(c.Name)+len(name) > lim.NameBytes {
		return ErrName
	}
	c.kept = len(c.Text)
	c.identify(f, id, name)
	switch {
	case c.Sealed, c.Cut:
	case f.Whole:
		c.confirm(f)
	case f.Object && f.Weak:
		c.rare().Weak = strings.Clone(f.Args)
	case f.Object:
		c.replace(f.Args, true)
	default:
		c.grow(f.Args)
	}
	return nil
}

// overflows tells whether the args would be too long with a fragment.
func (c *Call) overflows(f *Chunk, lim Limits) bool {
	if f.Whole || f.Object || c.resent(f.Args) {
		return len(f.Args) > lim.ArgsBytes
	}
	return len(c.Text)+len(f.Args) > lim.ArgsBytes
}

// silent tells whether a fragment for a sealed call says nothing new.
func (c *Call) silent(f *Chunk) bool {
	return f.Whole || f.Object || f.Args == string(c.Text) || strings.TrimSpace(f.Args) == ""
}

// identify adopts id and name when they come, and joins a name that comes in
// pieces; a name that comes again is a repeat.
func (c *Call) identify(f *Chunk, id, name string) {
	if c.ID == "" && id != "" {
		c.ID = strings.Clone(id)
	}
	switch {
	case name == "" || name == c.Name || c.Final:
	case c.Name == "" || strings.HasPrefix(name, c.Name) && len(c.Text) == 0:
		c.Name = strings.Clone(name)
	case len(c.Text) == 0:
		c.Name += name
	}
	if f.CallKind != "" && f.CallKind != "function" && c.Kind() == "" {
		c.rare().Kind = strings.Clone(f.CallKind)
	}
	if f.ParentCall != "" && c.ParentCall() == "" {
		c.rare().ParentCall = strings.Clone(f.ParentCall)
	}
	c.Provider = c.Provider || f.Provider
	c.Final = c.Final || f.Final
	c.Hold = c.Hold || f.Hold
}

// grow appends a text fragment, or what a cumulative resend adds to the text.
func (c *Call) grow(piece string) {
	switch {
	case c.Kind() == "custom": // free text is what it is
	case c.resent(piece):
		piece = piece[len(c.Text):]
		c.Joiner = Joiner{} // it has the half that waits, too
	case c.Placeholder() && startsValue(piece):
		c.replace("", false)
	case c.Object && strings.TrimSpace(piece) != "":
		c.replace("", false)
	}
	piece = c.Joiner.Join(piece)
	if piece == "" {
		return
	}
	c.Text = append(c.Text, piece...)
	c.scan.Write(piece)
}

// resent tells whether a fragment is the whole text so far and perhaps more:
// a text that begins with a brace cannot go on with itself and still be JSON.
// The one exception is {" which may go on with a key that begins with {".
func (c *Call) resent(piece string) bool {
	n := len(c.Text)
	if n == 0 || len(piece) < n || c.Text[0] != '{' || piece[:n] != string(c.Text) {
		return false
	}
	if strings.TrimSpace(string(c.Text[1:])) == `"` {
		rest := strings.TrimLeft(piece[n:], " \t\r\n")
		return rest != "" && rest[0] != ':'
	}
	return true
}

// confirm takes the args of a full message, unless those that were streamed
// are whole themselves, which nobody can tell of free text.
func (c *Call) confirm(f *Chunk) {
	spelt := c.Kind() != "custom" && c.scan.Complete() && !c.Placeholder() && !(c.Hold && f.Object)
	if spelt || f.Args == "" {
		return
	}
	c.replace(f.Args, f.Object)
}

func (c *Call) replace(text string, object bool) {
	c.Joiner = Joiner{}
	text = c.Joiner.Join(text)
	c.kept = common(c.Text, text)
	c.Text = []byte(text)
	c.Object = object
	c.scan = jsonscan.Scanner{}
	c.scan.Write(text)
}

// common gives the length of what two texts begin with, in whole characters.
func common(a []byte, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// Seal says that the args are complete.
func (c *Call) Seal() {
	c.kept = len(c.Text)
	if c.Sealed {
		return
	}
	if rest := c.Joiner.End(); rest != "" {
		c.Text = append(c.Text, rest...)
		c.scan.Write(rest)
	}
	if c.weak() != "" {
		if c.Blank() {
			c.replace(c.weak(), true)
		}
		c.Weak = ""
	}
	c.Sealed = true
}

// Close ends a call from outside, before its args were complete. What still
// comes for it is refused with ErrClosed.
func (c *Call) Close() {
	c.Closed = ClosedShort
	if c.Whole() {
		c.Closed = ClosedWhole
	}
}

// Blank tells whether no args came: none at all, or only white space.
func (c *Call) Blank() bool { return c.scan.First() == 0 && c.scan.Status() != jsonscan.Bad && !c.Cut }

// Placeholder tells whether the text is a bare {}, which some gateways send
// before the args proper.
func (c *Call) Placeholder() bool { return len(c.Text) == 2 && string(c.Text) == "{}" }

// Whole tells whether the text is one complete JSON value.
func (c *Call) Whole() bool { return (c.scan.Complete() || c.Object) && !c.Cut }

// Usable tells whether the args would be valid if nothing more came.
func (c *Call) Usable() bool { return c.Whole() || c.Blank() || c.Kind() == "custom" && !c.Cut }

// growing tells whether the args have begun or may begin, and are not whole.
func (c *Call) growing() bool { return c.Closed == ClosedShort || !c.Sealed && !c.Whole() }

// Args are the args of a call as one may use them.
type Args struct {
	JSON          []byte // nil where Valid is false
	Valid         bool
	DoubleEncoded bool   // the text was a JSON string that holds this object
	Error         string // what is wrong, and at which byte
}

// Args reads the text: nothing at all and null are {}, as every provider means
// it; a string that holds an object is that object. Free text (kind custom) is
// valid as it is, and no JSON. Text that is no JSON is never repaired.
func (c *Call) Args() Args {
	switch {
	case c.Cut:
		return Args{Error: "args are longer than the limit"}
	case c.Kind() == "custom":
		return Args{Valid: true}
	case c.Blank() || strings.TrimSpace(string(c.Text)) == "null":
		return Args{JSON: []byte("{}"), Valid: true}
	case !c.Whole():
		if c.scan.Status() == jsonscan.Bad {
			return Args{Error: c.scan.Err().Error()}
		}
		return Args{Error: "args end in the middle of a JSON value"}
	case c.scan.First() == '"':
		var inner string
		if json.Unmarshal(c.Text, &inner) != nil {
			break
		}
		var s jsonscan.Scanner
		s.Write(inner)
		if s.First() == '{' && s.Complete() {
			return Args{JSON: []byte(inner), Valid: true, DoubleEncoded: true}
		}
	}
	return Args{JSON: c.Text, Valid: true}
}
