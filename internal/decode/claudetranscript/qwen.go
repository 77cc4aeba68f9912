package claudetranscript

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// parts reads a line of a session file of Qwen Code, ~/.qwen/projects/PROJECT/chats/SESSION.jsonl,
// whose messages are those of Gemini, one in each line:
//
//	{"type":"assistant","uuid",…,"message":{"role":"model","parts":[{"text"},{"functionCall":{"id","name","args"}}]},"usageMetadata"}
//	{"type":"tool_result","uuid",…,"message":{"parts":[{"functionResponse":{"id","name","response"}}]},"toolCallResult":{"callId","status"}}
func (d *decoder) parts(w *wire.Writer, f wire.Frame, l *line, parts jsonscan.Value) *wire.Problem {
	a := d.agent(w, l)
	switch n := w.Len(); l.kind.Str {
	case "assistant":
		d.modelParts(w, f, a, wire.Keep(w.Text(l.uuid)), parts)
		a.place(w, n)
	case "tool_result":
		problem := w.GeminiResults(parts)
		status := f.JSON.Member("toolCallResult").Member("status").Str
		for i, list := 0, w.Since(n); i < len(list); i++ {
			if status == "error" || status == "cancelled" {
				list[i].Status = status
			}
			d.close(list[i].ID)
		}
		a.place(w, n)
		return problem
	case "user":
		switch l.subtype.Str {
		case "goal_runtime", "notification", "cron": // the program wrote it
		default:
			w.Emit(chunks.Chunk{Kind: chunks.Human, ID: w.Text(l.uuid), Text: w.PlainText(parts), Aside: l.subtype.Str != ""})
			a.endMessage(w)
		}
	}
	return nil
}

func (d *decoder) modelParts(w *wire.Writer, f wire.Frame, a *Agent, message string, parts jsonscan.Value) {
	a.endMessage(w)
	a.Message, a.Parts = message, 0
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: message, Role: "assistant"})
	for e := parts.Elements(); e.Next(); {
		var text, thought, call jsonscan.Value
		w.ReadKnown("the part", e.Value, text.From("text"), thought.From("thought"), call.From("functionCall"))
		switch {
		case call.IsObject():
			var id, name, args jsonscan.Value
			w.ReadKnown("functionCall", call, id.From("id"), name.From("name"), args.From("args"))
			c := chunks.Chunk{Kind: chunks.Fragment, Message: message, ID: w.Text(id), Name: w.Text(name), Final: true, Whole: true, Opens: id.Raw == ""}
			if c.Args, c.Object = "{}", true; args.Present() {
				c.Args = w.Compact(args.Raw)
			}
			w.EmitWhole(c)
			d.Open.AddNew(c.ID, maxCalls)
		case text.IsString():
			c := chunks.Chunk{Kind: chunks.Text, Message: message, Part: a.Parts}
			if thought.Kind == jsonscan.True {
				c.Kind = chunks.Reasoning
			}
			w.EmitText(c, text)
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: message, Part: a.Parts})
			a.Parts++
		}
	}
	w.EmitUsage(chunks.Chunk{Message: message}, f.JSON.Member("usageMetadata"))
	w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Wait: silence})
}
