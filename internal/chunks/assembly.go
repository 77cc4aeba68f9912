package chunks

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
	"unsafe"

	"streamer/internal/jsonscan"
)

// Assembly is one call as far as the model has written it.
type Assembly struct {
	Index string // raw JSON token, "" where the wire has none
	ID    string // the provider's
	Name  string
	// Text is the args so far, raw and in valid UTF-8. Its bytes are never
	// changed, because events share them: another text is another slice.
	Text  []byte
	*Rare // nil for most calls

	scan   jsonscan.Scanner
	kept   int
	Joiner Joiner

	Provider bool // executed by the provider
	Final    bool // neither name nor id will change
	// Object: Text is an object that the wire sent as an object, not as text.
	Object bool
	// Hold: Text is not emitted as it grows, because an object will replace it.
	Hold bool
	// Sealed: the args are complete. Later fragments add nothing.
	Sealed bool
	// Closed: the call was closed before its args were complete.
	Closed Closing
	// Cut: a fragment exceeded the limit, so the text has a gap or no end.
	// Later fragments add nothing, and the args are never valid.
	Cut bool
}

// Closing states how far the args were when Close closed a call.
type Closing uint8

// The values of Closing.
const (
	NotClosed Closing = iota
	// ClosedWhole: the text was one complete JSON value, or an object of the
	// wire.
	ClosedWhole
	// ClosedShort: the text was incomplete. Later fragments continue this call.
	ClosedShort
)

// Rare holds the fields that few calls have. A session can have many calls, so
// each call pays for one pointer only.
type Rare struct {
	Kind       string // custom, mcp, server…; "" for function
	ParentCall string
	// Weak is an object that counts only where no text comes.
	Weak string
}

// Kind returns the kind of the call, "" for function.
func (a *Assembly) Kind() string {
	if a.Rare == nil {
		return ""
	}
	return a.Rare.Kind
}

// ParentCall returns the id of the call that made this one, "" for none.
func (a *Assembly) ParentCall() string {
	if a.Rare == nil {
		return ""
	}
	return a.Rare.ParentCall
}

func (a *Assembly) weak() string {
	if a.Rare == nil {
		return ""
	}
	return a.Weak
}

func (a *Assembly) rare() *Rare {
	if a.Rare == nil {
		a.Rare = new(Rare)
	}
	return a.Rare
}

// RawIndex returns an index of a Chunk as JSON, or nil if the wire has none. The caller
// must not change it.
func RawIndex(index string) json.RawMessage {
	if index == "" || index[0] == Place {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(index), len(index))
}

// Place is the first byte of an index that the wire does not have: what follows identifies
// the call in its message instead.
const Place = '@'

// Shared returns b as a string without a copy. The bytes must never change, as
// those of Assembly.Text.
func Shared(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Kept returns how many leading bytes of Text are the same as before the last
// fragment or Seal. It is less than the former length where another text
// replaced the former one.
func (a *Assembly) Kept() int { return a.kept }

// Resume restores what JSON does not hold. It must be called after loading.
func (a *Assembly) Resume() {
	a.scan = jsonscan.Scanner{}
	a.scan.Write(string(a.Text))
}

func (a *Assembly) add(f *Chunk, id, name string, lim Limits) error {
	if a.Sealed && !a.addsNothing(f) {
		if a.Closed != NotClosed {
			return ErrClosed
		}
		return ErrEnd
	}
	if !a.Sealed && a.overflows(f, lim) {
		a.Cut = true
		return ErrArgs
	}
	if name != a.Name && len(a.Name)+len(name) > lim.NameBytes {
		return ErrName
	}
	a.kept = len(a.Text)
	a.identify(f, id, name)
	switch {
	case a.Sealed, a.Cut:
	case f.Whole:
		a.confirm(f)
	case f.Object && f.Weak:
		a.rare().Weak = strings.Clone(f.Args)
	case f.Object:
		a.replace(f.Args, true)
	default:
		a.grow(f.Args)
	}
	return nil
}

func (a *Assembly) overflows(f *Chunk, lim Limits) bool {
	if f.Whole || f.Object || a.resends(f.Args) {
		return len(f.Args) > lim.ArgsBytes
	}
	return len(a.Text)+len(f.Args) > lim.ArgsBytes
}

func (a *Assembly) addsNothing(f *Chunk) bool {
	repeats := f.Object && (f.Weak || len(a.Text) == 0 || equalJSON(a.Text, f.Args))
	return f.Whole || repeats || f.Args == string(a.Text) || strings.TrimSpace(f.Args) == ""
}

// identify adopts id, name and the other fields that identify a call. It joins a
// name that comes in pieces and ignores a repeated one. A whole call has the name of
// which a piece was lost.
func (a *Assembly) identify(f *Chunk, id, name string) {
	if a.ID == "" && id != "" {
		a.ID = strings.Clone(id)
	}
	switch {
	case name == "" || name == a.Name || a.Final:
	case a.Name == "", f.Whole && strings.HasSuffix(name, a.Name), strings.HasPrefix(name, a.Name) && (f.Whole || len(a.Text) == 0):
		a.Name = strings.Clone(name)
	case len(a.Text) == 0:
		a.Name += name
	}
	if f.CallKind != "" && f.CallKind != "function" && a.Kind() == "" {
		a.rare().Kind = strings.Clone(f.CallKind)
	}
	if f.ParentCall != "" && a.ParentCall() == "" {
		a.rare().ParentCall = strings.Clone(f.ParentCall)
	}
	a.Provider = a.Provider || f.Provider
	a.Final = a.Final || f.Final
	a.Hold = a.Hold || f.Hold
}

// grow appends a text fragment, or what a cumulative resend adds to the text.
func (a *Assembly) grow(piece string) {
	switch {
	case a.Kind() == "custom": // free text is never a resend or a placeholder
	case a.resends(piece):
		piece = piece[len(a.Text):]
		a.Joiner = Joiner{} // the resend includes the waiting half
	case a.Placeholder() && beginsValue(piece):
		a.replace("", false)
	case a.Whole() && beginsValue(piece) && sameValue(a.Text, piece):
		return // a repeat in another spelling
	case a.Object && strings.TrimSpace(piece) != "":
		a.replace("", false)
	}
	piece = a.Joiner.Join(piece)
	if piece == "" {
		return
	}
	if a.Text == nil {
		a.Text = make([]byte, 0, max(smallArgs, len(piece)))
	}
	a.Text = append(a.Text, piece...)
	a.scan.Write(piece)
}

// smallArgs is the capacity in bytes of args that begin. Most are longer than a
// fragment, and short enough for it.
const smallArgs = 64

// resends reports whether a fragment repeats the whole text so far and perhaps
// adds to it. A text that begins with a brace cannot continue with itself and
// remain JSON, except {" where a key may begin with {".
func (a *Assembly) resends(piece string) bool {
	n := len(a.Text)
	if n == 0 || len(piece) < n || a.Text[0] != '{' || piece[:n] != string(a.Text) {
		return false
	}
	if strings.TrimSpace(string(a.Text[1:])) == `"` {
		rest := strings.TrimLeft(piece[n:], " \t\r\n")
		return rest != "" && rest[0] != ':'
	}
	return true
}

// confirm adopts the args of a full message, unless the streamed args are whole and have
// the same value, or the message has none: frameworks write {} for a text which they could
// not parse. Free text has no sign that it is whole.
func (a *Assembly) confirm(f *Chunk) {
	whole := a.Kind() != "custom" && a.scan.Complete() && !a.Placeholder() && !(a.Hold && f.Object)
	if f.Args == "" || whole && !a.Contradicts(f.Args) || f.Args == "{}" && a.begun() {
		return
	}
	a.replace(f.Args, f.Object)
}

// Contradicts reports whether the text is one complete JSON value, and args of a full
// message are another one. No args, {} and null do not contradict it.
func (a *Assembly) Contradicts(args string) bool {
	return a.scan.Complete() && args != "" && args != "{}" && args != "null" && !equalJSON(a.Text, args)
}

// begun reports whether the text cannot be that of an empty object, or a piece of it.
func (a *Assembly) begun() bool {
	text := strings.TrimSpace(string(a.Text))
	return a.Kind() != "custom" && text != "null" && strings.Trim(text, "{} \t\r\n") != ""
}

// equalJSON reports whether a text is the same JSON value as another one. It is true if the
// other one is no JSON, which is no reason to prefer it.
func equalJSON(text []byte, other string) bool {
	if string(text) == other {
		return true
	}
	var a, b any
	return json.Unmarshal([]byte(other), &b) != nil || json.Unmarshal(text, &a) == nil && reflect.DeepEqual(a, b)
}

func (a *Assembly) replace(text string, object bool) {
	a.Joiner = Joiner{}
	text = a.Joiner.Join(text)
	a.kept = commonPrefix(a.Text, text)
	a.Text = []byte(text)
	a.Object = object
	a.scan = jsonscan.Scanner{}
	a.scan.Write(text)
}

// commonPrefix returns the length of the common prefix of two texts, in whole
// characters.
func commonPrefix(a []byte, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// Seal completes the args. Later fragments add nothing.
func (a *Assembly) Seal() {
	a.kept = len(a.Text)
	if a.Sealed {
		return
	}
	if rest := a.Joiner.End(); rest != "" {
		a.Text = append(a.Text, rest...)
		a.scan.Write(rest)
	}
	if a.weak() != "" {
		if a.Blank() {
			a.replace(a.weak(), true)
		}
		a.Weak = ""
	}
	a.Sealed = true
}

// Close records that the call was closed before its args were complete. Later
// fragments are refused with ErrClosed. Seal must come first.
func (a *Assembly) Close() {
	a.Closed = ClosedShort
	if a.Whole() {
		a.Closed = ClosedWhole
	}
}

// Blank reports whether no args came, or only white space.
func (a *Assembly) Blank() bool {
	return a.scan.First() == 0 && a.scan.Status() != jsonscan.Bad && !a.Cut
}

// Missing reports whether no args came in any form.
func (a *Assembly) Missing() bool { return a.Blank() && a.weak() == "" }

// Placeholder reports whether the text is a bare {} or null, which some gateways send
// before the actual args.
func (a *Assembly) Placeholder() bool {
	return len(a.Text) == 2 && string(a.Text) == "{}" || len(a.Text) == 4 && string(a.Text) == "null"
}

// Whole reports whether the text is one complete JSON value.
func (a *Assembly) Whole() bool { return (a.scan.Complete() || a.Object) && !a.Cut }

// Certain reports whether the text is one complete JSON value that no fragment is to
// replace or continue, even if the provider never closes the call.
func (a *Assembly) Certain() bool {
	number := a.scan.First() == '-' || a.scan.First() >= '0' && a.scan.First() <= '9'
	return a.Whole() && !number && !a.Placeholder() && !(a.Object && a.Hold)
}

// Usable reports whether the args would be valid if no fragment followed.
func (a *Assembly) Usable() bool { return a.Whole() || a.Blank() || a.Kind() == "custom" && !a.Cut }

// Full reports whether the call has all its args. The text of a call that was
// closed in the middle of them may continue.
func (a *Assembly) Full() bool {
	return a.Closed != ClosedShort && (a.Sealed || a.Whole())
}

// reusedBy reports whether a fragment with a name and the id of this call begins
// another call. Some servers use the name of the function, or the id of the response, as
// id. This call must have all its args, and the fragment must have another place on the
// wire or args that are no part of this call's. Before that, only the place shows it.
func (a *Assembly) reusedBy(f *Chunk, name string) bool {
	elsewhere := f.Index != "" && a.Index != "" && f.Index != a.Index
	switch {
	case !a.Full():
		return elsewhere && !f.Whole && a.contradicts(f, name)
	case f.Opens:
		return true
	case f.Whole:
		return false
	case elsewhere:
		return true
	case f.Object, a.Object, len(a.Text) == 0, a.Placeholder(), a.Kind() == "custom":
		return false
	}
	return beginsValue(f.Args) && !a.resends(f.Args) && !sameValue(a.Text, f.Args)
}

// contradicts reports whether a fragment on another index, with a name and the id of this
// call, does not continue the args of this call: it certainly begins a call, has another
// name, repeats the head of a call without args, or begins args after those of this call.
func (a *Assembly) contradicts(f *Chunk, name string) bool {
	switch {
	case f.Opens, a.Name != "" && name != a.Name:
		return true
	case len(a.Text) == 0:
		return f.Args == ""
	}
	return strings.HasPrefix(f.Args, "{") && !a.resends(f.Args)
}

// sameValue reports whether a text is the same JSON value as another one, apart
// from white space.
func sameValue(text []byte, other string) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, text) == nil && json.Compact(&b, []byte(other)) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// growing reports whether more args are to come: they have not begun, or they
// are incomplete. It includes a call that Close closed in the middle of its args.
func (a *Assembly) growing() bool { return a.Closed == ClosedShort || !a.Sealed && !a.Whole() }

// Args are the args of a call in the form that a tool receives.
type Args struct {
	JSON          []byte // nil where Valid is false, and for free text
	Valid         bool
	DoubleEncoded bool   // the text was a JSON string that holds this object
	Error         string // what is wrong, and at which byte
}

// Args parses the text. Blank text and null are {}, as every provider means it.
// A string that holds an object is that object. Free text (kind custom) is valid
// and has no JSON. Text that is not JSON is never repaired.
func (a *Assembly) Args() Args {
	switch {
	case a.Cut:
		return Args{Error: "args are longer than the limit"}
	case a.Kind() == "custom":
		return Args{Valid: true}
	case a.Blank() || string(bytes.TrimSpace(a.Text)) == "null":
		return Args{JSON: []byte("{}"), Valid: true}
	case !a.scan.Complete(): // an object of the wire too: some are free text
		if a.scan.Status() == jsonscan.Bad {
			return Args{Error: a.scan.Err().Error()}
		}
		return Args{Error: "args end in the middle of a JSON value"}
	case a.scan.First() == '"':
		var inner string
		if json.Unmarshal(a.Text, &inner) != nil {
			break
		}
		var s jsonscan.Scanner
		s.Write(inner)
		if s.First() == '{' && s.Complete() {
			return Args{JSON: []byte(inner), Valid: true, DoubleEncoded: true}
		}
	}
	return Args{JSON: a.Text, Valid: true}
}
