package pydanticai

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Dict is the args of a call that come as objects, as ToolCallPartDelta.apply merges them:
// each has the members that are new or that change.
type Dict struct {
	Index string // of the part
	Args  string // raw, so far
}

func (o *Dict) fields(f *stored.Fields) {
	f.Text("i", &o.Index)
	f.Text("a", &o.Args)
}

// The bounds of the args that are merged.
const (
	maxDicts = 64
	maxDict  = 64 << 10 // bytes of one call
)

// merge emits the args of a call with the members of a delta.
func (d *decoder) merge(w *wire.Writer, c chunks.Chunk, delta jsonscan.Value) *wire.Problem {
	i := slices.IndexFunc(d.Dicts, func(o Dict) bool { return o.Index == c.Index })
	if i < 0 {
		d.Dicts = append(wire.MakeRoom(d.Dicts, maxDicts), Dict{Index: wire.Keep(c.Index), Args: "{}"})
		i = len(d.Dicts) - 1
	}
	o := &d.Dicts[i]
	c.Args, c.Object = w.Compact(merged(w, jsonscan.ValueOf(o.Args), delta)), true
	if len(c.Args) > maxDict {
		return wire.WrongShape("the args of the part %s that came as objects are longer than %d bytes", wire.Clip(c.Index), maxDict)
	}
	o.Args = strings.Clone(c.Args)
	w.Emit(c)
	return nil
}

// merged returns the members of an object, with the values that another one has for them,
// and then the other members of that one.
func merged(w *wire.Writer, a, b jsonscan.Value) string {
	return w.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := a.Members(); m.Next(); {
			if v := b.Member(m.Key); v.Raw != "" {
				m.Value = v
			}
			dst = wire.AppendMember(dst, &m)
		}
		for m := b.Members(); m.Next(); {
			if a.Member(m.Key).Raw == "" {
				dst = wire.AppendMember(dst, &m)
			}
		}
		return append(dst, '}')
	})
}
