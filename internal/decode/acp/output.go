package acp

import "strings"

// maxOutput is the maximum number of bytes of the outputs of all calls of a session. A
// call that ends without an output has the one that it had before. Longer ones are
// dropped.
const maxOutput = 1 << 20

func (d *Decoder) keep(c *Call, u *update) {
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
func (d *Decoder) store(c *Call, raw string) {
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

func (r reader) callContent(u *update) {
	id := r.Text(u.call)
	c := r.d.call(id)
	if c == nil || c.Done || !u.content.IsObject() {
		return
	}
	if !c.Raw {
		list, ok := strings.CutSuffix(c.Output, "]")
		separator := ","
		if !ok || list == "[" {
			list, separator = "[", ""
		}
		r.d.store(c, list+separator+u.content.Raw+"]")
	}
	r.progress(c, id, r.Text(u.content.Member("content").Member("text")))
}
