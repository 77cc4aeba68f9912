package patch

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"streamer/internal/jsonscan"
)

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

// minArgs is the least value of Options.MaxArgs.
const minArgs = 100

// shortArgs returns raw args whose strings are cut to a number of bytes, "" where none is
// longer. Only the members of the object are looked at: what a file or a text has.
func shortArgs(args string, limit int) string {
	object := args
	if strings.HasPrefix(args, `"`) {
		object = text(args)
	}
	if !strings.HasPrefix(strings.TrimSpace(object), "{") || args != object && !isJSON(args) {
		return ""
	}
	short := object
	for name, value := range members(object) {
		if strings.HasPrefix(value, `"`) && len(value) > limit {
			if s := text(value); len(s) > limit {
				short = setMember(short, name, quote(cut(s, limit)))
			}
		}
	}
	switch {
	case short == object:
		return ""
	case args != object:
		return quote(short)
	}
	return short
}

// cut returns a text of at most limit bytes, with a note of how many are left out.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("… (1234567890 bytes left out)")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes left out)", s[:end], len(s)-end)
}

// isJSON reports whether a JSON string contains one JSON value, without memory for its text.
func isJSON(quoted string) bool {
	var s jsonscan.Scanner
	for rest := quoted[1 : len(quoted)-1]; rest != ""; {
		plain, escape, found := strings.Cut(rest, `\`)
		s.Write(plain)
		if !found {
			break
		}
		n, char := 1, escape[:1]
		if escape[0] == 'u' {
			n, char = 5, text(`"\`+escape[:5]+`"`)
		} else if i := strings.IndexByte("bfnrt", escape[0]); i >= 0 {
			char = "\b\f\n\r\t"[i : i+1]
		}
		s.Write(char)
		rest = escape[n:]
	}
	return s.Complete()
}
