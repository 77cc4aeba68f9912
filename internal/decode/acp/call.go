package acp

import (
	"strings"
	"unicode/utf8"

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
	f.Flag("d", &c.Done)
	f.Text("o", &c.Output)
	f.Flag("r", &c.Raw)
}

func (c *Call) done() { *c = Call{ID: c.ID, Named: true, Done: true} }

// running reports whether a call of a message that has not ended runs. With blank, only
// calls count whose args may still come.
func (d *Decoder) running(blank bool) bool {
	for i := range d.Calls {
		if c := &d.Calls[i]; !c.Done && !c.Past && !(blank && c.Args) {
			return true
		}
	}
	return false
}

// call returns the newest call with an id, or nil.
func (d *Decoder) call(id string) *Call {
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
func (r reader) call(u *update, begins bool) *wire.Problem {
	id := r.Text(u.call)
	if !u.call.IsString() || id == "" {
		return wire.WrongType("toolCallId", u.call, "a string that is not empty")
	}
	c := r.d.call(id)
	switch {
	case c == nil, begins && c.Done:
		c = r.open(id, u)
	case !c.Done:
		r.change(c, id, u)
	}
	r.d.keep(c, u)
	switch u.status.Str {
	case "in_progress":
		if c.Args {
			r.seal(c, id)
		}
		r.progress(c, id, texts(r.Writer, u.content))
	case "completed", "failed", "cancelled":
		r.result(c, id, u)
	default:
		r.progress(c, id, texts(r.Writer, u.content))
	}
	return nil
}

func (r reader) open(id string, u *update) *Call {
	r.begin("")
	if r.d.Written {
		p := r.d.chunk(chunks.PartEnd)
		p.Part = r.d.Part
		r.Emit(p)
		r.d.Part, r.d.Written = r.d.Part+1, false
	}
	r.d.Calls = append(wire.MakeRoom(r.d.Calls, maxCalls), Call{ID: wire.Keep(id), Message: r.d.Message})
	c := &r.d.Calls[len(r.d.Calls)-1]
	f := r.fragment(c, id, u)
	f.Opens, f.ParentCall = true, r.Text(u.parent)
	r.Emit(f)
	return c
}

func (r reader) change(c *Call, id string, u *update) {
	named := c.Named
	if f := r.fragment(c, id, u); !c.Past && (f.Args != "" || c.Named != named) {
		r.Emit(f)
	}
}

// fragment returns what an update has of a call. Later args replace the former ones.
func (r reader) fragment(c *Call, id string, u *update) chunks.Chunk {
	f := chunks.Chunk{Kind: chunks.Fragment, Message: c.Message, ID: id}
	if !c.Named {
		f.Name = r.name(u)
		f.Final, c.Named = f.Name != "", f.Name != ""
	}
	if u.input.Present() {
		f.Args, f.Object = r.Compact(u.input.Raw), true
		c.Args = c.Args || f.Args != "{}"
	} else {
		r.UnknownMembers("the update", u.whole, "sessionUpdate", "toolCallId", "content", "rawOutput", "_meta")
	}
	return f
}

// maxTitle is the maximum number of bytes of a title that is the name of a call.
const maxTitle = 128

// name returns the name of a call, or "" where the update has none.
func (r reader) name(u *update) string {
	if s := r.Text(u.name); s != "" {
		return s
	}
	kind := r.Text(u.toolKind)
	if kind != "" && kind != "other" {
		return kind
	}
	title, _, _ := strings.Cut(r.Text(u.title), "\n")
	if len(title) > maxTitle {
		for n := maxTitle; ; n-- {
			if utf8.RuneStart(title[n]) {
				title = title[:n]
				break
			}
		}
	}
	if title == "" {
		return kind
	}
	return title
}

// seal completes the args of a call. The end of its message has completed them, too.
func (r reader) seal(c *Call, id string) {
	if !c.Past && !c.Done {
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, ID: id})
	}
}

// result emits the end of a call. A call that has ended may have another one, which is
// late.
func (r reader) result(c *Call, id string, u *update) {
	r.seal(c, id)
	if c.Done && !u.output.Present() && !u.content.IsArray() {
		return
	}
	out := chunks.Chunk{Kind: chunks.Result, ID: id}
	switch u.status.Str {
	case "failed":
		out.Status = "error"
		var denied bool
		if r.d.Denied, denied = take(r.d.Denied, c.ID); denied {
			out.Status = "denied"
		}
	case "cancelled":
		out.Status = "cancelled"
	}
	r.fill(&out, c, u)
	if out.Status == "denied" && out.Text == "" && out.Content == "" {
		out.Text = denial
	}
	past := c.Past || c.Done
	c.done()
	if !past {
		r.d.Answered = r.d.Open && !r.d.running(false)
	}
	r.Emit(out)
}

// fill sets the content of a result: rawOutput, the texts of the content, or the content
// as JSON where it has no text.
func (r reader) fill(out *chunks.Chunk, c *Call, u *update) {
	v, raw := u.output, true
	if !v.Present() && c.Output != "" {
		v, raw = jsonscan.ValueOf(c.Output), c.Raw
	}
	if !raw || !v.Present() && u.content.IsArray() {
		if u.content.IsArray() {
			v = u.content
		}
		if out.Text = texts(r.Writer, v); out.Text != "" || v.Raw == "[]" {
			return
		}
	}
	if v.IsNested() {
		out.Content = r.Compact(v.Raw)
		return
	}
	out.Text = r.Text(v)
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

// maxProgress is the maximum number of bytes of the text of a progress.
const maxProgress = 1 << 10

func (r reader) progress(c *Call, id, text string) {
	if text == "" || c.Done || !c.Named {
		return
	}
	if len(text) > maxProgress {
		text = strings.ToValidUTF8(text[:maxProgress], "") + "…"
	}
	r.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: text})
}
