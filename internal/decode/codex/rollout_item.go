package codex

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Call is a call of a session file.
type Call struct {
	ID    string
	Model bool // the model has made it
	Item  bool // an item or an event has stated it first
	Open  bool // it has no result
	// Status and Text are the result of a call of the model as its item states it, until the
	// output that the model received comes. The text may be cut.
	Status, Text string
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.ID)
	f.Flag("m", &c.Model)
	f.Flag("s", &c.Item)
	f.Flag("o", &c.Open)
	f.Text("r", &c.Status)
	f.Text("t", &c.Text)
}

// maxEarly is the number of texts that only an event has.
const maxEarly = 8

// find returns the newest call with an id, or nil. The pointer is valid until the next call.
func (d *rollout) find(id string) *Call {
	for i := len(d.Calls) - 1; i >= 0; i-- {
		if d.Calls[i].ID == wire.Keep(id) {
			return &d.Calls[i]
		}
	}
	return nil
}

func (d *rollout) add(c Call) {
	c.ID = wire.Keep(c.ID)
	d.Calls = append(wire.MakeRoom(d.Calls, maxOpen), c)
}

// calling reports whether the model waits for the result of a call.
func (d *rollout) calling() bool {
	return slices.ContainsFunc(d.Calls, func(c Call) bool { return c.Model && c.Open })
}

// turnItem reads an item: {"type":"CommandExecution","id",…}. Items repeat most of what the
// model wrote, under the same ids. What a program of the model ran has an item alone.
func (d *rollout) turnItem(w *wire.Writer, v jsonscan.Value, ended bool) {
	i := read(w, v)
	switch kind := i.kind; kind {
	case "UserMessage":
		if ended {
			w.Emit(chunks.Chunk{Kind: chunks.Human, ID: i.id, Text: w.PlainText(v.Member("content"))})
		}
	case "AgentMessage", "Plan":
		if ended {
			d.early(w, chunks.Text, i.text+itemsText(w, v.Member("content")))
		}
	case "Reasoning":
		if ended {
			d.early(w, chunks.Reasoning, itemsText(w, v.Member("summary_text")))
		}
	case "HookPrompt", "SubAgentActivity", "ContextCompaction", "EnteredReviewMode", "ExitedReviewMode":
	default:
		if i.kind = strings.ToLower(capital.ReplaceAllString(kind, "${1}_$2")); ofCall(i.kind) && i.id != "" {
			d.callItem(w, &i, ended)
		} else if !d.repeats(i.id) {
			unknownItem(w, "item", kind, v)
		}
	}
}

// repeats reports whether an item has the id of a call that needs no item: the model made it,
// or it has its result.
func (d *rollout) repeats(id string) bool {
	c := d.find(id)
	return c != nil && (c.Model || !c.Open)
}

// unknownPayload reads a line, an event or an item of the model of an unknown type.
func unknownPayload(w *wire.Writer, what, kind string, v jsonscan.Value) {
	var item, action jsonscan.Value
	v.Read(item.From("item"), action.From("action"))
	switch {
	case item.IsObject():
		unknownItem(w, what, kind, item)
	case action.IsObject():
		w.UnknownCall(what, kind, "action")
	default:
		w.Unknown(what, kind, v)
	}
}

// capital finds the beginnings of words in the type of an item.
var capital = regexp.MustCompile("([a-z])([A-Z])")

// early emits a text before the model's own item, which repeats it.
func (d *rollout) early(w *wire.Writer, kind chunks.Kind, text string) {
	if text != "" {
		d.Early.Add(text, maxEarly)
		d.text(w, kind, text)
	}
}

// callItem reads the item of a call.
func (d *rollout) callItem(w *wire.Writer, i *item, ended bool) {
	c := d.find(i.id)
	if c == nil {
		if i.blank() || strings.HasSuffix(i.kind, "tool_call") && !i.tool.Present() {
			if ended { // it names the call alone
				w.Emit(i.end(w))
			}
			return
		}
		if !d.calling() {
			d.begin(w, false)
		}
		f := i.start(w)
		f.Args, f.Object = i.args(w), true
		w.EmitWhole(f)
		d.add(Call{ID: i.id, Item: true, Open: true})
		c = &d.Calls[len(d.Calls)-1]
	}
	if !ended || !c.Open {
		return
	}
	end := i.end(w)
	if c.Model {
		text := end.Text
		if end.Content != "" {
			text = w.PlainText(jsonscan.ValueOf(end.Content))
		}
		c.Status, c.Text = end.Status, strings.Clone(wire.Excerpt(text))
		return
	}
	c.Open = false
	d.Results = d.Results || !d.calling()
	w.Emit(end)
}

// eventKinds are the types of items by the names of events of older versions, without _end.
var eventKinds = map[string]string{
	"exec_command": "command_execution", "patch_apply": "file_change", "view_image_tool_call": "image_view", "dynamic_tool_call_response": "dynamic_tool_call",
}

// callEvent reads an event of a call that older versions write: exec_command_end{call_id,…}. It
// reports whether it is one.
func (d *rollout) callEvent(w *wire.Writer, kind string, v jsonscan.Value) bool {
	name, begins := strings.CutSuffix(strings.TrimSuffix(kind, "_end"), "_begin")
	i := read(w, v)
	i.kind, i.id = cmp.Or(eventKinds[name], name), w.Text(v.Member("call_id"))
	if !ofCall(i.kind) || i.id == "" {
		return false
	}
	if call := v.Member("invocation"); call.IsObject() { // of an MCP tool
		i.tool, i.arguments, i.failure, i.result = call.Member("tool"), call.Member("arguments"), i.result.Member("Err"), i.result.Member("Ok")
	}
	d.callItem(w, &i, !begins)
	return true
}

// answer emits the result of a call of the model, unless an item that came before its call
// has ended it.
func (d *rollout) answer(w *wire.Writer, c chunks.Chunk) {
	d.Results = true
	if call := d.find(c.ID); call != nil {
		if call.Item && !call.Open {
			return
		}
		if c.Status == "" && call.Status != "success" {
			c.Status = call.Status
		}
		call.end()
	}
	w.Emit(c)
}

func (c *Call) end() { c.Open, c.Status, c.Text = false, "", "" }

// endCalls emits the results that only items have stated, at the end of a turn.
func (d *rollout) endCalls(w *wire.Writer) {
	for i := range d.Calls {
		c := &d.Calls[i]
		if c.Open && c.Status != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: c.ID, Text: c.Text, Status: c.Status})
		}
		c.end()
	}
}
