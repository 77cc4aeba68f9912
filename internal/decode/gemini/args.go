package gemini

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Args is the position in the text of args that come in pieces. Each piece has a
// JSON path. The pieces come in the order of the text, so that the text grows only
// at its end. A piece with any other path makes the args invalid.
type Args struct {
	Levels  []Level // the open objects and arrays, outermost first; Levels[0] is the object of all args
	Text    bool    // the last value is a string that continues
	Invalid bool    // later pieces are ignored
}

func (a *Args) fields(f *stored.Fields) {
	stored.List(f, "l", &a.Levels, (*Level).fields)
	f.Flag("t", &a.Text)
	f.Flag("s", &a.Invalid)
}

// Level is an open object or array. Its last member or element is open too, or
// is the last value.
type Level struct {
	Keys []string // of the object, as in the text, without quotes
	Next int      // number of elements of the array
}

func (l *Level) fields(f *stored.Fields) {
	f.Texts("k", &l.Keys)
	stored.Number(f, "n", &l.Next)
}

const maxKeys = 4 << 10

// invalidate ends the args. It returns the opening brace if there was no text
// before, because no text at all would mean a call without args.
func (a *Args) invalidate() string {
	begun := len(a.Levels) > 0 || a.Invalid
	*a = Args{Invalid: true}
	if begun {
		return ""
	}
	return "{"
}

type pieceFields struct {
	path, value jsonscan.Value
	nested      bool   // the value is an object or an array
	continues   bool   // more text of the value follows
	unknown     string // key of a value of an unknown kind
}

func (d *decoder) readPiece(w *wire.Writer, piece jsonscan.Value) (f pieceFields) {
	for m := piece.Members(); m.Next(); {
		switch m.Key {
		case "jsonPath", "json_path":
			f.path = m.Value
		case "stringValue", "string_value", "numberValue", "number_value", "boolValue", "bool_value":
			if m.Value.Present() {
				f.value = m.Value
			}
		case "nullValue", "null_value":
			// Its value is null or the string NULL_VALUE. In a piece that has
			// another value, null means that there is no nullValue.
			if f.value.Raw == "" {
				f.value = jsonscan.ValueOf("null")
			}
		case "structValue", "struct_value", "listValue", "list_value":
			if m.Value.IsNested() {
				f.value, f.nested = jsonscan.ValueOf(w.Compact(m.Value.Raw)), true
			}
		case "willContinue", "will_continue":
			f.continues = m.Value.Kind == jsonscan.True
		default:
			if m.Value.Present() && strings.HasSuffix(strings.ToLower(m.Key), "value") {
				f.unknown = m.Key
			}
		}
	}
	return f
}

func (d *decoder) piece(w *wire.Writer, a *Args, piece jsonscan.Value) (string, *wire.Problem) {
	if a.Invalid {
		return "", nil // the first invalid piece was reported
	}
	f := d.readPiece(w, piece)
	switch {
	case f.value.Raw == "" && f.unknown != "":
		return a.invalidate(), wire.WrongShape("functionCall.partialArgs: a value of the kind %q is not known", wire.Clip(f.unknown))
	case f.value.Raw == "":
		return "", nil
	case f.value.IsNested() && !f.nested:
		return a.invalidate(), wire.WrongType("a value of functionCall.partialArgs", f.value, "a string, a number, a boolean or null")
	}
	var buffer [16]step
	where := w.Text(f.path)
	steps, ok := readPath(buffer[:0], where)
	if !ok {
		return a.invalidate(), wire.WrongShape("functionCall.partialArgs: jsonPath %q is no path to a member of the args", wire.Clip(where))
	}
	before := *a
	text := w.Build(func(dst []byte) []byte {
		dst, ok = a.write(dst, steps, f.value, f.continues)
		return dst
	})
	if !ok {
		*a = before
		return a.invalidate(), wire.WrongShape("functionCall.partialArgs: the value at %q does not follow on what came before it", wire.Clip(where))
	}
	return text, nil
}

// write appends the text from the end of the args so far to the end of the value.
// It reports whether the value can follow there.
func (a *Args) write(dst []byte, steps []step, value jsonscan.Value, continues bool) ([]byte, bool) {
	same := a.same(steps)
	switch {
	case same == len(steps) && same == len(a.Levels):
		if !a.Text || value.Kind != jsonscan.String {
			return dst, false // the path has a value already
		}
		return a.text(dst, value, continues), true
	case same == len(steps), same == len(a.Levels) && same > 0:
		return dst, false // one is a value, the other an object or array
	}
	if len(a.Levels) > 0 {
		dst = a.close(dst, same+1)
		dst = append(dst, ',')
	}
	for i := same; i < len(steps); i++ {
		var ok bool
		if dst, ok = a.enter(dst, i, steps[i]); !ok {
			return dst, false
		}
	}
	if value.Kind != jsonscan.String {
		return append(dst, value.Raw...), true
	}
	return a.text(append(dst, '"'), value, continues), true
}

// same returns the number of steps that lead towards the last value.
func (a *Args) same(steps []step) (n int) {
	for n < len(steps) && n < len(a.Levels) && a.Levels[n].at(steps[n]) {
		n++
	}
	return n
}

// text appends a piece of a string without its escapes resolved: pieces are one string,
// even where a cut is inside a surrogate pair.
func (a *Args) text(dst []byte, v jsonscan.Value, continues bool) []byte {
	dst = append(dst, v.Raw[1:len(v.Raw)-1]...)
	if a.Text = continues; !continues {
		dst = append(dst, '"')
	}
	return dst
}

// continues reports whether a string at a path continues the last value.
func (a *Args) continues(path string) bool {
	var buffer [16]step
	steps, ok := readPath(buffer[:0], path)
	return ok && a.Text && !a.Invalid && len(steps) == len(a.Levels) && a.same(steps) == len(steps)
}

func (l *Level) at(s step) bool {
	if s.index != isKey {
		return l.Keys == nil && s.index == l.Next-1
	}
	return len(l.Keys) > 0 && l.Keys[len(l.Keys)-1] == s.key
}

// enter begins a member or element in level i. It opens the level where there is
// none.
func (a *Args) enter(dst []byte, i int, s step) ([]byte, bool) {
	opens := i == len(a.Levels)
	if opens {
		a.Levels = append(a.Levels, Level{})
	}
	l := &a.Levels[i]
	if s.index != isKey {
		if opens {
			dst = append(dst, '[')
		}
		if i == 0 || l.Keys != nil || s.index != l.Next {
			return dst, false
		}
		l.Next++
		return dst, true
	}
	if opens {
		dst = append(dst, '{')
	}
	if l.Next > 0 || slices.Contains(l.Keys, s.key) || a.keys() >= maxKeys {
		return dst, false
	}
	l.Keys = append(l.Keys, strings.Clone(s.key))
	return append(appendQuoted(dst, s.key), ':'), true
}

func (a *Args) keys() (n int) {
	for i := range a.Levels {
		n += len(a.Levels[i].Keys)
	}
	return n
}

// close ends the string that continues, and all levels from keep on.
func (a *Args) close(dst []byte, keep int) []byte {
	if a.Text {
		dst = append(dst, '"')
		a.Text = false
	}
	for len(a.Levels) > keep {
		end := byte('}')
		if last := a.Levels[len(a.Levels)-1]; last.Keys == nil {
			end = ']'
		}
		dst = append(dst, end)
		a.Levels = a.Levels[:len(a.Levels)-1]
	}
	return dst
}

type step struct {
	key   string
	index int // isKey if the step is a key
}

const isKey = -1

// The bounds of a path.
const (
	maxPath  = 1 << 10 // bytes
	maxSteps = 100
)

// readPath appends the steps of a path, which consists of $ and any number of
// .key, ['key'], ["key"] and [0]. It reports whether the path is valid.
func readPath(steps []step, path string) ([]step, bool) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok || rest == "" || len(path) > maxPath {
		return nil, false
	}
	for rest != "" && len(steps) <= maxSteps {
		s := step{index: isKey}
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			s.key, rest = rest[1:end], rest[end:]
		case strings.HasPrefix(rest, "['"), strings.HasPrefix(rest, `["`):
			end := strings.Index(rest[2:], rest[1:2]+"]")
			if end < 0 {
				return nil, false
			}
			s.key, rest = rest[2:2+end], rest[end+4:]
		default:
			number, after, closed := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(number)
			if rest[0] != '[' || !closed || err != nil || n < 0 {
				return nil, false
			}
			s.index, rest = n, after
		}
		if s.key == "" && s.index == isKey {
			return nil, false
		}
		steps = append(steps, s)
	}
	return steps, len(steps) <= maxSteps
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
