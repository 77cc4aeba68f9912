package cli

import (
	"io"
	"os"
	"strings"
	"unicode"
)

// IsTerminal reports whether a reader or a writer is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Colour is the code of a colour or style of a terminal.
type Colour string

// The colours. They are those of the 16 that are readable on dark and light
// backgrounds.
const (
	Bold    Colour = "1"
	Dim     Colour = "2"
	Red     Colour = "31"
	Green   Colour = "32"
	Yellow  Colour = "33"
	Blue    Colour = "34"
	Magenta Colour = "35"
	Cyan    Colour = "36"
)

// Paint adds colours to text, unless it is the zero value.
type Paint struct{ on bool }

// NewPaint returns the paint for w: colours on a terminal, unless the environment has
// NO_COLOR or a TERM without colours.
func NewPaint(w io.Writer) Paint {
	return Paint{IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Text returns text in a colour.
func (p Paint) Text(c Colour, text string) string {
	if !p.on || c == "" || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// MaxText is the maximum number of characters of a name that Clean keeps.
const MaxText = 48

// Clean returns text that a model or a tool wrote, without what could change the
// state of a terminal, and shortened.
func Clean(text string) string {
	n := 0
	for i := range text {
		if n++; n > MaxText {
			return Printable(text[:i]) + "…"
		}
	}
	return Printable(text)
}

// Printable returns text without what could change the state of a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
