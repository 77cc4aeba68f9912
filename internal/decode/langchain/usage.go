package langchain

import (
	"strconv"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// totalUsage returns the usage of a message so far. Each piece of a message has a
// share of the usage, and langchain_core adds the shares up. The last piece does not
// repeat what the provider counted at the beginning.
func (d *decoder) totalUsage(w *wire.Writer, ns, id string, usage jsonscan.Value) string {
	i := d.Messages.index(ns, id)
	if i < 0 {
		return usage.Raw
	}
	s, sum := &d.Messages.Streamed[i], usage.Raw
	if s.Usage != "" {
		sum = w.Build(func(dst []byte) []byte {
			return addUsage(dst, jsonscan.ValueOf(s.Usage), usage, 0)
		})
	}
	if len(sum) <= wire.MaxUsage {
		s.Usage = strings.Clone(sum)
	}
	return sum
}

// usageDepth is the depth to which objects of counts are added.
const usageDepth = 4

// addUsage appends the sum of two objects of counts: the members of the first, then
// the members that only the second has. A member that is not a count has the value
// of the second.
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
