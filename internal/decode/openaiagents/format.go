// Package openaiagents reads the stream events of the OpenAI Agents SDK, as JSON.stringify
// writes those of JavaScript, and dataclasses.asdict or the like those of Python:
// https://openai.github.io/openai-agents-js/guides/streaming/
// https://openai.github.io/openai-agents-python/ref/stream_events/
//
//	raw_model_stream_event{data:{type:"model",event}}, raw_response_event{data}: an event of the provider
//	raw_model_stream_event{data:{type:"response_done",response:{id,output,usage}}}
//	run_item_stream_event{name:"tool_called|tool_output|handoff_requested|handoff_occurred|tool_approval_requested|…",item:{rawItem,output?}}
//	agent_updated_stream_event{agent:{name}}
//
// The events of the provider are read by their own format, and the items confirm them.
// response_done has the answer of a model whose events no format reads. Another agent that
// takes over has its name as namespace. The stream has no end: a run ends with an answer
// without calls, or is interrupted where calls wait for approval.
package openaiagents

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/openai"
	"streamer/internal/decode/responses"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format openai-agents.
func Format() wire.Format {
	chat, answers := openai.Chat(), responses.Format()
	return wire.Format{
		Name: "openai-agents", Shape: "openai",
		Keys:   []string{"data", "item", "agent", "new_agent"},
		Claims: claims,
		New: func() wire.Decoder {
			return &decoder{Chat: chat.New(), Answers: answers.New(), chat: chat.Claims, answers: answers.Claims}
		},
	}
}

func claims(f wire.Frame) wire.Claim {
	switch f.Type() {
	case "raw_model_stream_event", "raw_response_event", "run_item_stream_event", "agent_updated_stream_event":
		for m := f.Members(); m.Next(); {
			switch m.Key {
			case "data", "item", "agent", "new_agent":
				return wire.Surely
			}
		}
		return wire.IfKnown
	}
	return wire.No
}

// decoder decodes the events of a session. Its exported fields are the state between
// events.
type decoder struct {
	Chat    wire.Decoder // of Chat Completions
	Answers wire.Decoder // of Responses
	Agent   string       // that took over, "" for the first one
	First   string       // name of the first one, "" if it is not known
	Message string       // id of the last message
	Raw     bool         // the events of the provider are read
	Asked   bool         // the message has a call
	Over    bool         // the message is the last of its run

	chat, answers func(f wire.Frame) wire.Claim
}

func (d *decoder) Fields(f *stored.Fields) {
	fields := func(d *wire.Decoder, f *stored.Fields) { (*d).Fields(f) }
	stored.Object(f, "c", &d.Chat, fields)
	stored.Object(f, "r", &d.Answers, fields)
	f.Text("a", &d.Agent)
	f.Text("f", &d.First)
	f.Text("m", &d.Message)
	f.Flag("w", &d.Raw)
	f.Flag("k", &d.Asked)
	f.Flag("o", &d.Over)
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var kind, data, name, item, agent jsonscan.Value
	f.Read(kind.From("type"), data.From("data"), name.From("name"), item.From("item"), agent.From("agent"), agent.From("new_agent"))
	switch kind.Str {
	case "raw_response_event":
		return d.provider(w, data)
	case "raw_model_stream_event":
		if !data.IsObject() {
			return wire.WrongType("data", data, "an object")
		}
		return d.model(w, data)
	case "run_item_stream_event":
		if !item.IsObject() {
			return wire.WrongType("item", item, "an object")
		}
		return d.item(w, name.Str, item)
	case "agent_updated_stream_event":
		d.takeOver(w, agent)
	}
	return nil
}

// takeOver records the agent that answers from now on. Before the first message of a run it
// is the agent that begins.
func (d *decoder) takeOver(w *wire.Writer, agent jsonscan.Value) {
	d.next("")
	name := wire.Keep(w.Text(agent.Member("name")))
	if d.Message == "" && d.Agent == "" {
		d.First = name
	}
	if d.Agent = name; name == d.First {
		d.Agent = ""
	}
}

func (d *decoder) model(w *wire.Writer, data jsonscan.Value) *wire.Problem {
	var kind, event, response jsonscan.Value
	data.Read(kind.From("type"), event.From("event"), response.From("response"))
	switch kind.Str {
	case "response_started":
		d.Raw = false
	case "model":
		return d.provider(w, event)
	case "response_done":
		if !d.Raw {
			d.whole(w, response)
		}
		d.answer(w)
	case "output_text_delta": // repeats the event of the provider
	default:
		w.Unknown("model event", kind.Str, data)
	}
	return nil
}

// provider emits the chunks of an event of the provider. One that no format reads is
// repeated by response_done.
func (d *decoder) provider(w *wire.Writer, event jsonscan.Value) (problem *wire.Problem) {
	n, f := w.Len(), wire.Frame{JSON: event}
	kind := f.Type()
	switch {
	case !event.IsObject():
		return nil
	case d.answers(f) == wire.Surely:
		problem = d.Answers.Decode(w, f)
	case d.chat(f) >= wire.Perhaps:
		problem = d.Chat.Decode(w, f)
	default:
		return nil
	}
	d.Raw = true
	list := w.Since(n)
	for i := range list {
		c := &list[i]
		if c.Message != "" {
			d.next(wire.Keep(c.Message))
		}
		c.Namespace = d.Agent
		if c.Message != "" && c.Message != d.Message {
			d.Message, d.Asked = wire.Keep(c.Message), false
		}
		d.Asked = d.Asked || c.Kind == chunks.Fragment
	}
	if kind == "response.completed" {
		d.answer(w)
	}
	return problem
}

// answer ends the run after an answer without calls. Two events of an answer may cause it.
// Another agent may begin the next run.
func (d *decoder) answer(w *wire.Writer) {
	if d.Asked || d.Message == "" {
		return
	}
	if d.Agent != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: d.Agent, Message: d.Message})
		w.Emit(chunks.Chunk{Kind: chunks.Answer, Message: d.Message})
	}
	d.Over = true
}

// next forgets the agents of a run that is over, if a message is another one than its last.
func (d *decoder) next(message string) {
	if d.Over && message != d.Message {
		d.Agent, d.First, d.Message, d.Over = "", "", "", false
	}
}
