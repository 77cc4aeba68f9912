package openai

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// choice emits the delta, or the whole message, of a choice and its end. Where
// the provider failed, the finish reason ("error") does not complete the args.
func (d *decoder) choice(w *wire.Writer, of wire.Choice, v jsonscan.Value, failed bool) {
	var index, delta, message, finish, failure jsonscan.Value
	w.ReadKnown("the choice", v,
		index.From("index"), delta.From("delta"), message.From("message"), finish.From("finish_reason"), failure.From("error"),
	)
	of.Index = index.Int()
	switch {
	case delta.IsObject():
		d.delta(w, of, delta)
	case message.IsObject():
		of.Whole, of.Varies = true, false
		d.delta(w, of, message)
	}
	switch reason := w.Text(finish); {
	case failed:
	case failure.Present():
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, IDVaries: of.Message != "", Text: w.FailureText(failure)})
		d.Running = nil
	case reason == "error", reason == "network_error", wire.Discards(reason):
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, IDVaries: of.Message != "", Text: "the finish reason is " + reason})
		d.Running = nil
	case reason != "":
		w.Emit(chunks.Chunk{
			Kind: chunks.Finish, Message: of.Message, Choice: of.Index, IDVaries: of.Varies,
			Reason: reason, Truncated: wire.Truncates(reason),
		})
		d.Running = nil
	}
}

func (d *decoder) delta(w *wire.Writer, of wire.Choice, delta jsonscan.Value) {
	var role, content, reasoning, thoughts, refusal, calls, legacy, executed jsonscan.Value
	w.ReadKnown("the delta", delta,
		role.From("role"), content.From("content"), reasoning.From("reasoning_content"), thoughts.From("reasoning"),
		refusal.From("refusal"), calls.From("tool_calls"), legacy.From("function_call"), executed.From("executed_tools"),
	)
	if !reasoning.Present() || reasoning.Raw == `""` { // some servers send both, with the same text
		reasoning = thoughts
	}
	if s := w.Text(role); s != "" {
		// The wire does not show whether a role after the end of a message
		// begins another message with the same id. Fresh stays unset.
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index, IDVaries: of.Varies, Role: s})
	}
	w.Content(of, chunks.Reasoning, reasoning)
	w.Content(of, chunks.Text, content)
	w.Content(of, chunks.Text, refusal)
	d.executedTools(w, of, executed)
	if calls.IsObject() {
		w.OpenAICall(of, calls)
	}
	for e := calls.Elements(); e.Next(); {
		w.OpenAICall(of, e.Value)
	}
	// Some servers send both, for old and new clients.
	if some := calls.Elements(); legacy.IsObject() && !calls.IsObject() && !some.Next() {
		w.OpenAIFunction(of, legacy, "", "", "")
	}
}
