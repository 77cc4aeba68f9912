// Package stored writes the states of sessions in a binary form and reads them, without
// reflection: every snapshot is written, and every session that returns is read.
//
// A struct describes its fields once, in a function that visits them in order:
//
//	func (d *Decoder) Fields(f *stored.Fields) {
//		f.Text("m", &d.Message)
//		stored.List(f, "c", &d.Calls, (*Call).fields)
//	}
//
// Append writes them, and Load reads them. The form is
//
//	1 byte   Version
//	         an object: its fields, and a byte of zero
//
// A field is a byte with its kind and the length of its name, its name, and its value:
//
//	number     a varint
//	negative   a varint, which is the number without its sign
//	text       the number of its bytes as a varint, and its bytes
//	object     its fields, and a byte of zero
//	list       the number of its elements as a varint, and its elements: fields without a name
//	flag       nothing; it is true
//
// Fields that are zero or empty are left out. Load skips fields that it does not know, so
// a state type can gain and lose fields while Version stays. A name that was in use must
// not come back with another meaning. The order of the fields does not matter to Load. A
// field that repeats replaces the former one, except that objects are merged.
package stored

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// Version is the version of the form that Append writes. Load reads it and the older ones.
const Version = 1

// ErrVersion is returned for a form that this program does not know.
var ErrVersion = errors.New("an unknown version of the stored form")

type kind byte

const (
	end kind = iota // of an object
	number
	negative
	text
	object
	list
	flag
)

var kinds = [...]string{"the end of an object", "a number", "a negative number", "a text", "an object", "a list", "a flag"}

const (
	maxName  = 1<<5 - 1 // bytes of a name
	maxDepth = 64       // of a value that is skipped
	// keptRoom is the number of elements for which there is room before they are read.
	keptRoom = 64
)

// Fields writes or reads the fields of an object. Each of its methods with a name, and
// each function that has a Fields and a name, is for one field. Reading, it does nothing
// unless that field is the next one, so a visit reads all fields that are in order.
type Fields struct {
	b       []byte // what is written, or read
	reading bool
	at      int    // offset in b of the byte that is read next
	kind    kind   // of the value that is read next, end after the last one
	name    []byte // of that field
	taken   bool   // a visit has read a field
	err     error
	path    string // of the field with the error
	pool    []byte // memory of the next short strings
}

// Append appends the form of v. The function visits its fields.
func Append[T any](dst []byte, v *T, visit func(*T, *Fields)) []byte {
	f := Fields{b: append(dst, Version)}
	visit(v, &f)
	return append(f.b, 0)
}

// Load reads v from its form. It shares no memory with data. An error names the field and
// the offset.
func Load[T any](data []byte, v *T, visit func(*T, *Fields)) error {
	if len(data) == 0 {
		return errors.New("nothing where the stored form is expected at offset 0")
	}
	if data[0] != Version {
		return fmt.Errorf("%w: %d at offset 0, the newest that this program reads is %d", ErrVersion, data[0], Version)
	}
	f := Fields{b: data, reading: true, at: 1}
	read(&f, v, visit)
	if f.at < len(data) {
		f.fail(f.at, "%d bytes where nothing more is expected", len(data)-f.at)
	}
	if f.path != "" {
		return fmt.Errorf("%s: %w", f.path, f.err)
	}
	return f.err
}

// Reading reports whether fields are read.
func (f *Fields) Reading() bool { return f.reading }

// Reads reports whether the field that is read next has one of the names.
func (f *Fields) Reads(names ...string) bool {
	return slices.ContainsFunc(names, f.next)
}

func (f *Fields) next(name string) bool { return f.reading && string(f.name) == name }

// Fail ends the reading with an error, unless there is one.
func (f *Fields) Fail(err error) { f.fail(f.at, "%w", err) }

func (f *Fields) fail(at int, format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format+" at offset %d", append(args, at)...)
	}
	f.at, f.kind, f.name = len(f.b), end, nil
}

func read[T any](f *Fields, v *T, visit func(*T, *Fields)) {
	f.head(true)
	for first := true; first || f.kind != end; first = false {
		f.taken = false
		visit(v, f)
		if f.kind != end && !f.taken {
			name := string(f.name)
			f.skip(0)
			f.done(name)
		}
	}
}

// head reads what precedes the value of a field or an element, or the end of an object.
func (f *Fields) head(named bool) {
	f.kind, f.name = end, nil
	if f.err != nil {
		return
	}
	if f.at == len(f.b) {
		f.fail(f.at, "the end where a field or an element is expected")
		return
	}
	c := f.b[f.at]
	k, size := kind(c>>5), int(c&maxName)
	switch rest := f.b[f.at+1:]; {
	case c == 0 && named:
		f.at++
	case k == end || k > flag || named != (size > 0):
		f.fail(f.at, "byte 0x%02x where a field or an element is expected", c)
	case size > len(rest):
		f.fail(f.at, "a name of %d bytes where %d are left", size, len(rest))
	default:
		f.kind, f.name = k, rest[:size]
		f.at += 1 + size
	}
}

// done follows the value of a field that was written or read.
func (f *Fields) done(name string) {
	if !f.reading {
		return
	}
	f.taken = true
	if f.err == nil {
		f.head(true)
		return
	}
	if f.path != "" {
		name += "." + f.path
	}
	f.path = name
}

// is reports whether the value that is read next is of a kind, and fails where it is not.
func (f *Fields) is(k kind) bool {
	if f.kind != k && f.err == nil {
		f.fail(f.at, "%s where %s is expected", kinds[f.kind], kinds[k])
	}
	return f.err == nil
}

// skip reads a value that is not known.
func (f *Fields) skip(depth int) {
	if depth > maxDepth {
		f.fail(f.at, "a value more than %d deep", maxDepth)
	}
	switch f.kind {
	case number, negative:
		f.uvarint()
	case text:
		f.bytes()
	case object:
		for f.head(true); f.kind != end; f.head(true) {
			f.skip(depth + 1)
		}
	case list:
		for n := f.size(); n > 0 && f.err == nil; n-- {
			f.head(false)
			f.skip(depth + 1)
		}
	}
}

func (f *Fields) uvarint() uint64 {
	v, n := binary.Uvarint(f.b[f.at:])
	if n <= 0 {
		f.fail(f.at, "no number of at most 64 bits")
		return 0
	}
	f.at += n
	return v
}

// size reads the number of things of which each takes a byte at least.
func (f *Fields) size() int {
	at := f.at
	n := f.uvarint()
	if left := len(f.b) - f.at; n > uint64(left) {
		f.fail(at, "a length of %d where %d bytes are left", n, left)
		return 0
	}
	return int(n)
}

// bytes reads a text, which shares the memory of the form.
func (f *Fields) bytes() []byte {
	if !f.is(text) {
		return nil
	}
	n := f.size()
	f.at += n
	return f.b[f.at-n : f.at]
}

// begin writes what precedes the value of a field or an element.
func (f *Fields) begin(k kind, name string) {
	f.b = append(append(f.b, byte(k)<<5|byte(len(name))), name...)
}

// visits reports whether the field of that name is written or read now. Zero values are
// not written.
func (f *Fields) visits(name string, zero bool) bool {
	if f.reading {
		return f.next(name)
	}
	return !zero
}

// Text writes or reads a string.
func (f *Fields) Text(name string, v *string) {
	if f.visits(name, *v == "") {
		textValue(f, name, v)
		f.done(name)
	}
}

func textValue(f *Fields, name string, v *string) {
	if f.reading {
		*v = f.keep(f.bytes())
		return
	}
	writeText(f, name, *v)
}

func writeText[T ~string | ~[]byte](f *Fields, name string, v T) {
	f.begin(text, name)
	f.b = append(binary.AppendUvarint(f.b, uint64(len(v))), v...)
}

// poolSize is the number of bytes in which short strings are kept together. Few strings
// share their memory, so that one of them does not keep much of the others.
const poolSize = 256

func (f *Fields) keep(s []byte) string {
	if len(s) > poolSize/4 {
		return string(s)
	}
	if len(f.pool)+len(s) > cap(f.pool) {
		f.pool = make([]byte, 0, poolSize)
	}
	from := len(f.pool)
	f.pool = append(f.pool, s...)
	return unsafe.String(unsafe.SliceData(f.pool[from:]), len(s))
}

// Bytes writes or reads bytes.
func (f *Fields) Bytes(name string, v *[]byte) {
	switch {
	case !f.visits(name, len(*v) == 0):
	case f.reading:
		*v = bytes.Clone(f.bytes())
		f.done(name)
	default:
		writeText(f, name, *v)
	}
}

// Flag writes or reads a boolean.
func (f *Fields) Flag(name string, v *bool) {
	switch {
	case !f.visits(name, !*v):
	case f.reading:
		*v = f.is(flag)
		f.done(name)
	default:
		f.begin(flag, name)
	}
}

type integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64
}

// Number writes or reads an integer.
func Number[T integer](f *Fields, name string, v *T) {
	if f.visits(name, *v == 0) {
		numberValue(f, name, v)
		f.done(name)
	}
}

func numberValue[T integer](f *Fields, name string, v *T) {
	switch {
	case f.reading:
		readNumber(f, v)
	case *v < 0:
		f.begin(negative, name)
		f.b = binary.AppendUvarint(f.b, -uint64(*v))
	default:
		f.begin(number, name)
		f.b = binary.AppendUvarint(f.b, uint64(*v))
	}
}

func readNumber[T integer](f *Fields, v *T) {
	minus := f.kind == negative
	if !minus && !f.is(number) {
		return
	}
	at := f.at
	size := f.uvarint()
	n := T(size)
	fits := n >= 0 && uint64(n) == size
	if minus {
		n = -n
		signed := ^T(0) < 0
		fits = signed && n <= 0 && -uint64(n) == size
	}
	if !fits {
		f.fail(at, "a number that is too large")
		return
	}
	*v = n
}

// Object writes or reads an object, which is left out where all its fields are.
func Object[T any](f *Fields, name string, v *T, visit func(*T, *Fields)) {
	before := len(f.b)
	if f.visits(name, false) {
		objectValue(f, name, v, visit)
		f.done(name)
	}
	if empty := before + len(name) + 2; !f.reading && len(f.b) == empty {
		f.b = f.b[:before]
	}
}

// Pointer writes or reads an object, which is left out where the pointer is nil.
func Pointer[T any](f *Fields, name string, v **T, visit func(*T, *Fields)) {
	if !f.visits(name, *v == nil) {
		return
	}
	if *v == nil {
		*v = new(T)
	}
	objectValue(f, name, *v, visit)
	f.done(name)
}

func objectValue[T any](f *Fields, name string, v *T, visit func(*T, *Fields)) {
	if f.reading {
		if f.is(object) {
			read(f, v, visit)
		}
		return
	}
	f.begin(object, name)
	visit(v, f)
	f.b = append(f.b, 0)
}

// List writes or reads a list of objects.
func List[T any](f *Fields, name string, v *[]T, visit func(*T, *Fields)) {
	elements(f, name, v, func(f *Fields, name string, e *T) { objectValue(f, name, e, visit) })
}

// Numbers writes or reads a list of integers.
func Numbers[T integer](f *Fields, name string, v *[]T) { elements(f, name, v, numberValue[T]) }

// Texts writes or reads a list of strings.
func (f *Fields) Texts(name string, v *[]string) { elements(f, name, v, textValue) }

func elements[T any](f *Fields, name string, v *[]T, each func(*Fields, string, *T)) {
	switch {
	case !f.visits(name, len(*v) == 0):
	case f.reading:
		*v = readList(f, each)
		f.done(name)
	default:
		f.begin(list, name)
		f.b = binary.AppendUvarint(f.b, uint64(len(*v)))
		for i := range *v {
			each(f, "", &(*v)[i])
		}
	}
}

func readList[T any](f *Fields, each func(*Fields, string, *T)) []T {
	if !f.is(list) {
		return nil
	}
	n := f.size()
	all := make([]T, 0, min(n, keptRoom))
	for ; n > 0 && f.err == nil; n-- {
		f.head(false)
		var zero T
		all = append(all, zero)
		each(f, "", &all[len(all)-1])
	}
	return all
}
