package acp

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Call is a call of a session.
type Call struct {
	ID      string
	Message string // id of its message
	Past    bool   // that message has ended
	Named   bool
	Args    bool // it has args, not only an empty object
	Blank   bool // it has not begun to run, and its empty object was not emitted
	Sealed  bool // its args are complete
	Done    bool // it has ended
	// Output is what the tool has returned so far, as raw JSON. Raw states that it is
	// rawOutput, which has precedence over content.
	Output string
	Raw    bool
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.ID)
	f.Text("m", &c.Message)
	f.Flag("p", &c.Past)
	f.Flag("n", &c.Named)
	f.Flag("a", &c.Args)
	f.Flag("b", &c.Blank)
	f.Flag("s", &c.Sealed)
	f.Flag("d", &c.Done)
	f.Text("o", &c.Output)
	f.Flag("r", &c.Raw)
}

func (c *Call) done() { *c = Call{ID: c.ID, Named: true, Done: true} }

// running reports whether a call of a message that has not ended runs. With blank, only
// calls count whose args may still come.
func (d *decoder) running(blank bool) bool {
	for i := range d.Calls {
		if c := &d.Calls[i]; !c.Done && !c.Past && !(blank && c.Args) {
			return true
		}
	}
	return false
}

// cut reports whether a call of the open message ended before it had args, or may.
func (d *decoder) cut() bool {
	return d.Discarded || slices.ContainsFunc(d.Calls, func(c Call) bool { return c.Blank })
}

func (d *decoder) call(id string) *Call {
	id = id[:min(len(id), wire.MaxID)]
	for i := len(d.Calls) - 1; i >= 0; i-- {
		if d.Calls[i].ID == id {
			return &d.Calls[i]
		}
	}
	return nil
}

// call emits the chunks of an update of a call. begins states that it is the first one,
// which version 2 does not distinguish.
func (d *decoder) updateCall(w *wire.Writer, u *update, begins bool) *wire.Problem {
	id := w.Text(u.call)
	if !u.call.IsString() || id == "" {
		return wire.WrongType("toolCallId", u.call, "a string that is not empty")
	}
	c := d.call(id)
	switch {
	case c == nil, begins && c.Done:
		c = d.open(w, id, u)
	case !c.Done:
		named := c.Named
		if f := d.fragment(w, c, id, u); !c.Past && (f.Args != "" || c.Named != named) {
			w.Emit(f)
		}
	}
	d.keep(c, u)
	switch u.status.Str {
	case "in_progress":
		d.fillBlank(w, c, id)
		if c.Args {
			d.seal(w, c, id)
		}
		d.progress(w, c, id, texts(w, u.content))
	case "completed", "failed", "cancelled":
		d.result(w, c, id, u)
	default:
		d.progress(w, c, id, texts(w, u.content))
	}
	return nil
}

func (d *decoder) open(w *wire.Writer, id string, u *update) *Call {
	d.begin(w, "")
	if d.Written {
		p := d.chunk(chunks.PartEnd)
		p.Part = d.Part
		w.Emit(p)
		d.Part, d.Written = d.Part+1, false
	}
	d.Calls = append(wire.MakeRoom(d.Calls, maxCalls), Call{ID: wire.Keep(id), Message: d.Message})
	c := &d.Calls[len(d.Calls)-1]
	f := d.fragment(w, c, id, u)
	f.Opens, f.ParentCall = true, w.Text(u.parent)
	w.Emit(f)
	return c
}

// fragment returns what an update has of a call. Later args replace the former ones, but
// those of a request for permission are what the person sees, and may be fewer. The empty
// object of a call that is only pending states nothing yet.
func (d *decoder) fragment(w *wire.Writer, c *Call, id string, u *update) chunks.Chunk {
	f := chunks.Chunk{Kind: chunks.Fragment, Message: c.Message, ID: id}
	if !c.Named {
		f.Name = d.name(w, u)
		f.Final, c.Named = f.Name != "", f.Name != ""
	}
	switch {
	case u.asks && c.Sealed && u.input.Present():
	case u.input.Present():
		f.Args, f.Object = w.Compact(u.input.Raw), true
		c.Args = c.Args || f.Args != "{}"
		if c.Blank = !c.Args && (u.status.Str == "pending" || c.Blank && !u.status.Present()); c.Blank {
			f.Args, f.Object = "", false
		}
	default:
		w.UnknownMembers("the update", u.whole, "sessionUpdate", "toolCallId", "content", "rawOutput", "_meta")
	}
	return f
}

const maxTitle = 128

func (d *decoder) name(w *wire.Writer, u *update) string {
	if s := w.Text(u.name); s != "" {
		return s
	}
	kind := w.Text(u.toolKind)
	if kind != "" && kind != "other" {
		return kind
	}
	title, _, _ := strings.Cut(w.Text(u.title), "\n")
	if len(title) > maxTitle {
		title = strings.ToValidUTF8(title[:maxTitle], "")
	}
	return cmp.Or(title, kind)
}

// fillBlank emits the empty object of a call that is no longer only pending.
func (d *decoder) fillBlank(w *wire.Writer, c *Call, id string) {
	if c.Blank {
		w.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: c.Message, ID: id, Args: "{}", Object: true})
	}
	c.Blank = false
}

// seal completes the args of a call. The end of its message has completed them, too.
func (d *decoder) seal(w *wire.Writer, c *Call, id string) {
	if !c.Past && !c.Done {
		d.fillBlank(w, c, id)
		w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, ID: id})
		c.Sealed = true
	}
}

// result emits the end of a call. A call that has ended may have another one, which is
// late. One that failed before it had args was discarded.
func (d *decoder) result(w *wire.Writer, c *Call, id string, u *update) {
	if c.Blank && u.status.Str != "completed" {
		d.Discarded = true
	} else {
		d.seal(w, c, id)
	}
	if c.Done && !u.output.Present() && !u.content.IsArray() {
		return
	}
	out := chunks.Chunk{Kind: chunks.Result, ID: id}
	switch u.status.Str {
	case "failed":
		out.Status = "error"
		if d.Cancelled || u.output.Member("outcome").Str == "cancelled" { // of Qwen Code
			out.Status = "cancelled"
		}
		var denied bool
		if d.Denied, denied = take(d.Denied, c.ID); denied {
			out.Status = "denied"
		}
	case "cancelled":
		out.Status = "cancelled"
	}
	d.fill(w, &out, c, u)
	if out.Status == "denied" && out.Text == "" && out.Content == "" {
		out.Text = denial
	}
	past := c.Past || c.Done
	c.done()
	if !past {
		d.Answered = d.Open && !d.running(false)
	}
	w.Emit(out)
}

// fill sets the content of a result: rawOutput, the texts of the content, or the content
// as JSON where it has no text.
func (d *decoder) fill(w *wire.Writer, out *chunks.Chunk, c *Call, u *update) {
	v, raw := u.output, true
	if !v.Present() && c.Output != "" {
		v, raw = jsonscan.ValueOf(c.Output), c.Raw
	}
	if !raw || !v.Present() && u.content.IsArray() {
		if u.content.IsArray() {
			v = u.content
		}
		if out.Text = texts(w, v); out.Text != "" || v.Raw == "[]" {
			return
		}
	}
	out.Content, out.Text = w.ContentOf(v)
}

// texts returns the texts of the content of a call, one on each line.
func texts(w *wire.Writer, content jsonscan.Value) string {
	var list []string
	for e := content.Elements(); e.Next(); {
		if s := w.Text(e.Value.Member("content").Member("text")); s != "" {
			list = append(list, s)
		}
	}
	return strings.Join(list, "\n")
}

func (d *decoder) progress(w *wire.Writer, c *Call, id, text string) {
	if text == "" || c.Done || !c.Named {
		return
	}
	w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(text)})
}

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
