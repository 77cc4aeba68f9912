package patch

import (
	"strings"

	"streamer/internal/jsonscan"
)

// checkArgs checks args that must be a string with JSON.
func (c *call) checkArgs() {
	if !strings.HasPrefix(c.args, `"`) && c.args != "" && c.args != "null" {
		return // some servers send the object instead of a string
	}
	if c.args == "" || c.args == "null" || strings.TrimSpace(c.args[1:len(c.args)-1]) == "null" {
		c.changedArgs = `"{}"`
		return
	}
	if !isJSON(c.args) {
		c.changedArgs, c.broken = `"{}"`, true
	}
}

func (c *call) checkObjectArgs() {
	if strings.HasPrefix(c.args, "{") {
		return
	}
	c.changedArgs = "{}"
	if !strings.HasPrefix(c.args, `"`) {
		return
	}
	inner := strings.TrimSpace(text(c.args))
	switch {
	case !isJSON(c.args):
		c.broken = inner != "" && inner != "null"
	case strings.HasPrefix(inner, "{"):
		c.changedArgs = inner
	}
}

// isJSON reports whether a JSON string contains one JSON value, without decoding
// the string.
func isJSON(quoted string) bool {
	var s jsonscan.Scanner
	for rest := quoted[1 : len(quoted)-1]; rest != ""; {
		plain, escape, found := strings.Cut(rest, `\`)
		s.Write(plain)
		if !found {
			break
		}
		s.Write(escaped(escape))
		if rest = escape[1:]; escape[0] == 'u' {
			rest = escape[5:]
		}
	}
	return s.Complete()
}

// escaped returns the character of an escape sequence. All characters beyond ASCII
// are equivalent to a JSON scanner, so it returns one of them.
func escaped(s string) string {
	switch s[0] {
	case 'b':
		return "\b"
	case 'f':
		return "\f"
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case 'u':
		if r := text(`"\` + s[:5] + `"`); len(r) == 1 {
			return r
		}
		return "é"
	}
	return s[:1]
}
