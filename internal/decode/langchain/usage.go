package langchain

import (
	"strconv"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// langUsage gives the usage of a message so far. Its pieces each tell a share
// of it, which langchain_core adds up when it puts a message together: what a
// provider counts at the beginning is not told again at the end.
func (r reader) langUsage(ns, id string, usage jsonscan.Value) string {
	mem := &r.d.Messages
	i := mem.index(ns, id)
	if i < 0 {
		return usage.Raw
	}
	s, sum := mem.Streamed[i], usage.Raw
	if s.Usage != "" {
		sum = r.Build(func(dst []byte) []byte {
			return addUsage(dst, jsonscan.ValueOf(s.Usage), usage, 0)
		})
	}
	if len(sum) <= wire.MaxUsage {
		s.Usage = strings.Clone(sum)
		mem.set(i, s)
	}
	return sum
}

const usageDepth = 4

// addUsage appends the sum of two objects of counts, in the order of the
// first's members and then of the second's own. What is no count is the
// second's.
func addUsage(dst []byte, a, b jsonscan.Value, depth int) []byte {
	dst = append(dst, '{')
	for m := a.Members(); m.Next(); {
		v := b.Member(m.Key)
		switch {
		case v.Raw == "":
			dst = wire.AppendMember(dst, &m)
			continue
		case m.Value.IsObject() && v.IsObject() && depth < usageDepth:
			dst = wire.AppendKey(dst, m.RawKey)
			dst = addUsage(dst, m.Value, v, depth+1)
			continue
		case m.Value.Kind == jsonscan.Number && v.Kind == jsonscan.Number:
			dst = wire.AppendKey(dst, m.RawKey)
			dst = strconv.AppendInt(dst, int64(m.Value.Int())+int64(v.Int()), 10)
			continue
		}
		m.Value = v
		dst = wire.AppendMember(dst, &m)
	}
	for m := b.Members(); m.Next(); {
		if a.Member(m.Key).Raw == "" {
			dst = wire.AppendMember(dst, &m)
		}
	}
	return append(dst, '}')
}
