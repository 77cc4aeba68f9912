package acp

import (
	"strings"

	"streamer/internal/decode/wire"
)

// maxOutput is the maximum number of bytes of the outputs of all calls of a session. A
// call that ends without an output has the one that it had before. Longer ones are
// dropped.
const maxOutput = 1 << 20

func (d *decoder) keep(c *Call, u *update) {
	switch {
	case c.Done:
	case u.output.Present():
		c.Raw = true
		d.store(c, u.output.Raw)
	case u.content.IsArray() && !c.Raw:
		d.store(c, u.content.Raw)
	}
}

// store stores the output of a call, in place of those of the oldest calls where there
// are too many bytes.
func (d *decoder) store(c *Call, raw string) {
	c.Output = ""
	if len(raw) > maxOutput {
		return
	}
	size := len(raw)
	for i := range d.Calls {
		size += len(d.Calls[i].Output)
	}
	for i := 0; size > maxOutput; i++ {
		size -= len(d.Calls[i].Output)
		d.Calls[i].Output = ""
	}
	c.Output = strings.Clone(raw)
}

func (d *decoder) callContent(w *wire.Writer, u *update) {
	id := w.Text(u.call)
	c := d.call(id)
	if c == nil || c.Done || !u.content.IsObject() {
		return
	}
	if !c.Raw {
		list, ok := strings.CutSuffix(c.Output, "]")
		separator := ","
		if !ok || list == "[" {
			list, separator = "[", ""
		}
		d.store(c, list+separator+u.content.Raw+"]")
	}
	d.progress(w, c, id, w.Text(u.content.Member("content").Member("text")))
}
