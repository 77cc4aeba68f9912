package gemini

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// GeminiArgs is where the text of args stands that come in pieces, each of
// which names its place by a JSON path. The pieces come in the order of the
// text, so it grows at its end only; a piece that belongs anywhere else has no
// place in it.
type GeminiArgs struct {
	Levels []GeminiLevel `json:"l,omitzero"` // what is open, outermost first; Levels[0] is the object of all args
	Text   bool          `json:"t,omitzero"` // the last value is a string that goes on
	Spoilt bool          `json:"s,omitzero"` // nothing more is taken
}

// GeminiLevel is an open object or array. Its last member or element is open
// too, or is the last value.
type GeminiLevel struct {
	Keys []string `json:"k,omitzero"` // of the object, as they stand in the text, without quotes
	Next int      `json:"n,omitzero"` // elements of the array
}

// geminiStep is a step of a path: a key, or an index.
type geminiStep struct {
	key   string
	index int // isKey where it is none
}

const isKey = -1

// Bounds of what one piece may name, and of what is remembered for a call.
const (
	maxPath  = 1 << 10 // bytes
	maxSteps = 100
	maxKeys  = 4 << 10 // in all open objects together
)

func (a GeminiArgs) clone() GeminiArgs {
	a.Levels = slices.Clone(a.Levels)
	for i := range a.Levels {
		a.Levels[i].Keys = slices.Clone(a.Levels[i].Keys)
	}
	return a
}

// spoil takes nothing more. Where nothing was taken before, it gives the brace
// the args begin with: no text at all would mean no args.
func (a *GeminiArgs) spoil() string {
	begun := len(a.Levels) > 0 || a.Spoilt
	*a = GeminiArgs{Spoilt: true}
	if begun {
		return ""
	}
	return "{"
}

// geminiPiece gives the text that a piece adds to the args.
func (r reader) geminiPiece(a *GeminiArgs, piece jsonscan.Value) (string, *wire.Problem) {
	if a.Spoilt {
		return "", nil // it was said why
	}
	var path, value jsonscan.Value
	goesOn, whole, unknown := false, false, ""
	for m := piece.Members(); m.Next(); {
		switch m.Key {
		case "jsonPath", "json_path":
			path = m.Value
		case "stringValue", "string_value", "numberValue", "number_value", "boolValue", "bool_value":
			if m.Value.Present() {
				value = m.Value
			}
		case "nullValue", "null_value":
			// Its value is null, or the word NULL_VALUE; in a piece that has
			// another value, null means that it is not there.
			if value.Raw == "" {
				value = jsonscan.ValueOf("null")
			}
		case "structValue", "struct_value", "listValue", "list_value":
			if m.Value.IsNested() {
				value, whole = jsonscan.ValueOf(r.Compact(m.Value.Raw)), true
			}
		case "willContinue", "will_continue":
			goesOn = m.Value.Kind == jsonscan.True
		default:
			if m.Value.Present() && strings.HasSuffix(strings.ToLower(m.Key), "value") {
				unknown = m.Key
			}
		}
	}
	switch {
	case value.Raw == "" && unknown != "":
		return a.spoil(), wire.WrongShape("functionCall.partialArgs: a value of the kind %q is not known", wire.Clip(unknown))
	case value.Raw == "":
		return "", nil
	case value.IsNested() && !whole:
		return a.spoil(), wire.WrongType("a value of functionCall.partialArgs", value, "a string, a number, a boolean or null")
	}
	var buffer [16]geminiStep
	where := r.Text(path)
	steps, ok := readPath(buffer[:0], where)
	if !ok {
		return a.spoil(), wire.WrongShape("functionCall.partialArgs: jsonPath %q is no path to a member of the args", wire.Clip(where))
	}
	before := *a
	text := r.Build(func(dst []byte) []byte {
		dst, ok = a.write(dst, steps, value, goesOn)
		return dst
	})
	if !ok {
		*a = before
		return a.spoil(), wire.WrongShape("functionCall.partialArgs: the value at %q does not follow on what came before it", wire.Clip(where))
	}
	return text, nil
}

// write appends what stands in the text from its end to the end of the value,
// or tells that the value has no place behind that end.
func (a *GeminiArgs) write(dst []byte, steps []geminiStep, value jsonscan.Value, goesOn bool) ([]byte, bool) {
	same := 0
	for same < len(steps) && same < len(a.Levels) && a.Levels[same].at(steps[same]) {
		same++
	}
	switch {
	case same == len(steps) && same == len(a.Levels):
		if !a.Text || value.Kind != jsonscan.String {
			return dst, false // the value is there already
		}
		dst = append(dst, inside(value)...)
		if !goesOn {
			dst = append(dst, '"')
		}
		a.Text = goesOn
		return dst, true
	case same == len(steps), same == len(a.Levels) && same > 0:
		return dst, false // what is a value there is an object or array here
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
	dst = append(append(dst, '"'), inside(value)...)
	if !goesOn {
		dst = append(dst, '"')
	}
	a.Text = goesOn
	return dst, true
}

// inside gives a JSON string without its quotes, escapes as they are: the
// pieces of a string make up a string so, even where they cut a surrogate pair.
func inside(v jsonscan.Value) string { return v.Raw[1 : len(v.Raw)-1] }

// at tells whether the last member or element of a level is that of a step.
func (l *GeminiLevel) at(s geminiStep) bool {
	if s.index != isKey {
		return l.Keys == nil && s.index == l.Next-1
	}
	return len(l.Keys) > 0 && l.Keys[len(l.Keys)-1] == s.key
}

// enter begins a member or element in level i, which it opens if need be.
func (a *GeminiArgs) enter(dst []byte, i int, s geminiStep) ([]byte, bool) {
	opens := i == len(a.Levels)
	if opens {
		a.Levels = append(a.Levels, GeminiLevel{})
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

func (a *GeminiArgs) keys() (n int) {
	for i := range a.Levels {
		n += len(a.Levels[i].Keys)
	}
	return n
}

// close ends the string that goes on, and all levels from keep on.
func (a *GeminiArgs) close(dst []byte, keep int) []byte {
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

// closeArgs gives the text from the end of the last value to that of the args.
func (r reader) closeArgs(a *GeminiArgs) string {
	return r.Build(func(dst []byte) []byte { return a.close(dst, 0) })
}

// readPath reads $.key, $['key'], $["key"] and $[0], in any row.
func readPath(steps []geminiStep, path string) ([]geminiStep, bool) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok || rest == "" || len(path) > maxPath {
		return nil, false
	}
	for rest != "" && len(steps) <= maxSteps {
		s := geminiStep{index: isKey}
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

// appendQuoted appends a JSON string.
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
