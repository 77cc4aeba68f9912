package decode

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// body reads the members of a body that is not a stream event. It keeps the
// first thing that is wrong, and names the field.
type body struct {
	r       *Reader
	problem *Problem
}

// open reads data as one JSON object; where nothing is allowed, no bytes are
// an empty object.
func (b *body) open(data []byte, what string, nothing bool) gjson.Result {
	text := trim(alias(data))
	if text == "" {
		if !nothing {
			b.fail(&Problem{Code: BadShape, Text: "the " + what + " is empty"})
		}
		return gjson.Result{}
	}
	if p := checkJSON(text); p != nil {
		p.Offset += trimmed(alias(data), 0, 0).base
		b.fail(p)
		return gjson.Result{}
	}
	v := valueOf(text)
	if !isObject(v) {
		b.fail(wrongType("the "+what, v, "an object"))
	}
	return v
}

func (b *body) fail(p *Problem) {
	if b.problem == nil {
		b.problem = p
	}
}

// text gives a string member; null and absent are "".
func (b *body) text(field string, v gjson.Result) string {
	if present(v) && v.Type != gjson.String {
		b.fail(wrongType(field, v, "a string"))
		return ""
	}
	return b.r.text(v)
}

// texts gives a member that is a list of strings; null and absent are none.
func (b *body) texts(field string, v gjson.Result) (list []string) {
	if present(v) && !isArray(v) {
		b.fail(wrongType(field, v, "a list of strings"))
		return nil
	}
	for e := elements(v); e.next(); {
		if e.value.Type != gjson.String {
			b.fail(wrongType(fmt.Sprintf("%s[%d]", field, len(list)), e.value, "a string"))
			return nil
		}
		list = append(list, b.r.text(e.value))
	}
	return list
}

// oneOf checks a word against those that are allowed.
func (b *body) oneOf(field, got string, allowed ...string) string {
	if slices.Contains(allowed, got) {
		return got
	}
	b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("%s is %q, not one of %q", field, clip(got), allowed)})
	return ""
}
