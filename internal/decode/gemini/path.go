package gemini

import (
	"fmt"
	"strconv"
	"strings"
)

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
