// Package stored writes the states of sessions as JSON and reads them, without
// reflection: every snapshot is written, and every session that returns is read.
//
// A struct describes its members once, in a function that visits them in order:
//
//	func (d *Decoder) Fields(f *stored.Fields) {
//		f.Text("m", &d.Message)
//		stored.List(f, "c", &d.Calls, (*Call).fields)
//	}
//
// Append writes them, and Load reads them. The result is as encoding/json writes it with
// the option omitempty and without escapes for HTML: members that are zero or empty are
// left out. The order of the members does not matter to Load, which skips unknown ones.
// A member that repeats replaces the former one, except that members of objects are
// merged. A text that is damaged causes an error that names the member and the offset.
package stored

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"streamer/internal/events"
	"streamer/internal/jsonscan"
)

// Fields writes or reads the members of an object. Each of its methods with a name, and
// each function that has a Fields and a name, is for one member. Reading, it does nothing
// unless that member is the next one, so a visit reads all members that are in order.
type Fields struct {
	w       events.Members
	reading bool
	r       jsonscan.Reader
	key     string // of the member that is read next, "" after the last one
	taken   bool   // a visit has read a member
	path    string // of the member with the error
	pool    []byte // memory of the next short strings
}

// Append appends the object that v is stored as. The function visits its members.
func Append[T any](dst []byte, v *T, visit func(*T, *Fields)) []byte {
	f := Fields{w: events.Members{B: append(dst, '{')}}
	visit(v, &f)
	return append(f.w.B, '}')
}

// Load reads v from the object that it is stored as. Strings and bytes of v do not share
// the memory of text.
func Load[T any](text string, v *T, visit func(*T, *Fields)) error {
	f := Fields{reading: true, r: jsonscan.NewReader(text)}
	read(&f, v, visit)
	f.r.End()
	return f.err()
}

// Nested reads v from the text of a value that Raw has read.
func Nested[T any](f *Fields, text string, v *T, visit func(*T, *Fields)) error {
	r, key, path := f.r, f.key, f.path
	f.r, f.path = jsonscan.NewReader(text), ""
	read(f, v, visit)
	f.r.End()
	err := f.err()
	f.r, f.key, f.path = r, key, path
	return err
}

func (f *Fields) err() error {
	if err := f.r.Err(); err != nil && f.path != "" {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return f.r.Err()
}

// Reading reports whether members are read.
func (f *Fields) Reading() bool { return f.reading }

// Reads reports whether the member that is read next has one of the names.
func (f *Fields) Reads(names ...string) bool { return f.key != "" && slices.Contains(names, f.key) }

// Fail ends the reading with an error, unless there is one.
func (f *Fields) Fail(err error) {
	f.r.Fail(err)
	f.key = ""
}

// read reads v from the next value.
func read[T any](f *Fields, v *T, visit func(*T, *Fields)) {
	f.key = ""
	if f.r.Object() {
		f.advance()
	}
	for first := true; first || f.key != ""; first = false {
		f.taken = false
		visit(v, f)
		if f.key != "" && !f.taken {
			f.r.Raw()
			f.advance()
		}
	}
}

// advance reads the key of the next member. A member without a name is skipped.
func (f *Fields) advance() {
	for more := true; more; {
		if f.key, more = f.r.Key(); f.key != "" {
			return
		}
		if more {
			f.r.Raw()
		}
	}
}

// next follows the value of a member that was read.
func (f *Fields) next(name string) {
	f.taken = true
	if f.r.Err() != nil {
		if f.path != "" {
			name += "." + f.path
		}
		f.path, f.key = name, ""
		return
	}
	f.advance()
}

// Raw reads the text of any value, which shares the memory of the whole text. It writes
// nothing.
func (f *Fields) Raw(name string, v *string) {
	if f.reading && f.key == name {
		*v = f.r.Raw()
		f.next(name)
	}
}

// Text writes or reads a string.
func (f *Fields) Text(name string, v *string) {
	if !f.reading {
		f.w.Text(name, *v)
	} else if f.key == name {
		if s, ok := f.r.Text(); ok {
			*v = f.keep(s)
		}
		f.next(name)
	}
}

// poolSize is the number of bytes in which short strings are kept together. Few strings
// share their memory, so that one of them does not keep much of the others.
const poolSize = 256

// keep returns a copy of a string.
func (f *Fields) keep(s string) string {
	if len(s) > poolSize/4 {
		return strings.Clone(s)
	}
	if len(f.pool)+len(s) > cap(f.pool) {
		f.pool = make([]byte, 0, poolSize)
	}
	from := len(f.pool)
	f.pool = append(f.pool, s...)
	return unsafe.String(unsafe.SliceData(f.pool[from:]), len(s))
}

// Bytes writes or reads bytes, as base64.
func (f *Fields) Bytes(name string, v *[]byte) {
	if !f.reading {
		if len(*v) > 0 {
			f.w.Key(name)
			f.w.B = append(base64.StdEncoding.AppendEncode(append(f.w.B, '"'), *v), '"')
		}
	} else if f.key == name {
		s, ok := f.r.Text()
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			f.failed(err)
		}
		if *v = b; !ok {
			*v = nil
		}
		f.next(name)
	}
}

// failed ends the reading because the value that was read last has an error.
func (f *Fields) failed(err error) {
	f.r.Fail(fmt.Errorf("%w before offset %d", err, f.r.Offset()))
}

// Flag writes or reads a boolean.
func (f *Fields) Flag(name string, v *bool) {
	if !f.reading {
		f.w.Flag(name, *v)
	} else if f.key == name {
		if set, ok := f.r.Bool(); ok {
			*v = set
		}
		f.next(name)
	}
}

// Time writes or reads a time.
func (f *Fields) Time(name string, v *events.Time) {
	if !f.reading {
		if *v != 0 {
			f.w.Time(name, *v)
		}
	} else if f.key == name {
		if s, ok := f.r.Text(); ok {
			if err := v.UnmarshalText([]byte(s)); err != nil {
				f.failed(err)
			}
		}
		f.next(name)
	}
}

// integer is the types of numbers that are stored.
type integer interface {
	~int | ~int32 | ~uint8 | ~uint32 | ~uint64
}

// Number writes or reads an integer.
func Number[T integer](f *Fields, name string, v *T) {
	if !f.reading {
		if *v != 0 {
			f.w.Key(name)
			f.w.B = appendNumber(f.w.B, *v)
		}
	} else if f.key == name {
		readNumber(f, v)
		f.next(name)
	}
}

func appendNumber[T integer](dst []byte, v T) []byte {
	if v < 0 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendUint(dst, uint64(v), 10)
}

func readNumber[T integer](f *Fields, v *T) {
	size, negative, ok := f.r.Integer()
	if !ok {
		return
	}
	n := T(size)
	fits := n >= 0 && uint64(n) == size
	if negative {
		n = -n
		signed := ^T(0) < 0
		fits = signed && n <= 0 && -uint64(n) == size
	}
	if !fits {
		f.failed(errors.New("a number that is too large"))
		return
	}
	*v = n
}

// value writes or reads an object.
func value[T any](f *Fields, v *T, visit func(*T, *Fields)) {
	if f.reading {
		read(f, v, visit)
		return
	}
	f.w.B = append(f.w.B, '{')
	visit(v, f)
	f.w.B = append(f.w.B, '}')
}

// Object writes or reads an object, which is left out where all its members are.
func Object[T any](f *Fields, name string, v *T, visit func(*T, *Fields)) {
	if !f.reading {
		before := len(f.w.B)
		f.w.Key(name)
		from := len(f.w.B)
		if value(f, v, visit); len(f.w.B) == from+len("{}") {
			f.w.B = f.w.B[:before]
		}
	} else if f.key == name {
		read(f, v, visit)
		f.next(name)
	}
}

// Pointer writes or reads an object, which is left out where the pointer is nil.
func Pointer[T any](f *Fields, name string, v **T, visit func(*T, *Fields)) {
	if !f.reading {
		if *v != nil {
			f.w.Key(name)
			value(f, *v, visit)
		}
	} else if f.key == name {
		switch {
		case f.r.Null():
			*v = nil
		case *v == nil:
			*v = new(T)
			fallthrough
		default:
			read(f, *v, visit)
		}
		f.next(name)
	}
}

// List writes or reads a list of objects. An element that is null is the zero value.
func List[T any](f *Fields, name string, v *[]T, visit func(*T, *Fields)) {
	list(f, name, v, func(f *Fields, e *T) { value(f, e, visit) })
}

// Numbers writes or reads a list of integers.
func Numbers[T integer](f *Fields, name string, v *[]T) {
	list(f, name, v, func(f *Fields, e *T) {
		if f.reading {
			readNumber(f, e)
			return
		}
		f.w.B = appendNumber(f.w.B, *e)
	})
}

// Texts writes or reads a list of strings.
func (f *Fields) Texts(name string, v *[]string) { list(f, name, v, textElement) }

func textElement(f *Fields, e *string) {
	if !f.reading {
		f.w.B = events.AppendQuoted(f.w.B, *e)
	} else if s, ok := f.r.Text(); ok {
		*e = f.keep(s)
	}
}

// list writes or reads a list, whose elements each writes or reads.
func list[T any](f *Fields, name string, v *[]T, each func(*Fields, *T)) {
	if f.reading {
		if f.key == name {
			*v = readList(f, each)
			f.next(name)
		}
		return
	}
	if len(*v) == 0 {
		return
	}
	f.w.Key(name)
	f.w.B = append(f.w.B, '[')
	for i := range *v {
		if i > 0 {
			f.w.B = append(f.w.B, ',')
		}
		each(f, &(*v)[i])
	}
	f.w.B = append(f.w.B, ']')
}

func readList[T any](f *Fields, each func(*Fields, *T)) []T {
	if !f.r.Array() {
		return nil
	}
	all := []T{}
	for f.r.Element() {
		var zero T
		all = append(all, zero)
		each(f, &all[len(all)-1])
	}
	return all
}
