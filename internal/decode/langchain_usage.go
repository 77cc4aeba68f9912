package decode

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// langUsage gives the usage of a message so far. Its pieces each tell a share
// of it, which langchain_core adds up when it puts a message together: what a
// provider counts at the beginning is not told again at the end.
func (r *Reader) langUsage(ns, id string, usage gjson.Result) string {
	mem := partOf(&r.mem.LangChain)
	i := mem.index(ns, id)
	if i < 0 {
		return usage.Raw
	}
	s, sum := mem.Streamed[i], usage.Raw
	if s.Usage != "" {
		start := len(r.scratch)
		r.scratch = addUsage(r.scratch, valueOf(s.Usage), usage, 0)
		sum = alias(r.scratch[start:])
	}
	if len(sum) <= keptUsage {
		s.Usage = strings.Clone(sum)
		mem.set(i, s)
	}
	return sum
}

const usageDepth = 4

// addUsage appends the sum of two objects of counts, in the order of the
// first's members and then of the second's own. What is no count is the
// second's.
func addUsage(dst []byte, a, b gjson.Result, depth int) []byte {
	start := len(dst)
	dst = append(dst, '{')
	for m := members(a); m.next(); {
		v := member(b, m.key)
		switch {
		case v.Raw == "":
			dst = appendMember(dst, start, m)
			continue
		case isObject(m.value) && isObject(v) && depth < usageDepth:
			dst = appendKey(dst, start, m.rawKey)
			dst = addUsage(dst, m.value, v, depth+1)
			continue
		case m.value.Type == gjson.Number && v.Type == gjson.Number:
			dst = appendKey(dst, start, m.rawKey)
			dst = strconv.AppendInt(dst, int64(integer(m.value))+int64(integer(v)), 10)
			continue
		}
		m.value = v
		dst = appendMember(dst, start, m)
	}
	for m := members(b); m.next(); {
		if member(a, m.key).Raw == "" {
			dst = appendMember(dst, start, m)
		}
	}
	return append(dst, '}')
}

func appendKey(dst []byte, start int, rawKey string) []byte {
	if len(dst) > start+1 {
		dst = append(dst, ',')
	}
	return append(append(dst, rawKey...), ':')
}
