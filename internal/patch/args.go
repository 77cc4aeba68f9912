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
