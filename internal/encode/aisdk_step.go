package encode

import (
	"slices"
	"strings"

	"streamer/internal/events"
)

// aiStep is the open step. It has one message, or several that overlap.
type aiStep struct {
	open       bool
	messages   int  // that are open
	all        int  // messages that began in the step
	superseded bool // the last message that ended was abandoned
	kept       bool // the step has a call that ended other than superseded
}

func (a *aiSDK) beginStep() {
	if !a.step.open {
		a.step = aiStep{open: true}
		a.steps++
		a.send(aiChunk{Type: "start-step"})
	}
}

func (a *aiSDK) finishStep() {
	if a.step.open {
		a.send(aiChunk{Type: "finish-step"})
		a.step = aiStep{}
	}
}

// startMessage begins a step for the message, unless another message or the input of
// a call is open in the step: the client would show their rest as a second part.
// Where the message replaces one that was abandoned, the client drops the parts of
// that.
func (a *aiSDK) startMessage(e *events.Event) {
	if e.Place != nil && isPrompt(e.Role) {
		a.prompts = append(a.prompts, *e.Place)
		return
	}
	if a.step.open && a.step.messages == 0 && !a.inputOpen() {
		a.endParts()
		if a.step.replaced() && !a.callsInStep() {
			a.send(aiChunk{Type: "reset-step"})
			a.step = aiStep{open: true}
		} else {
			a.finishStep()
		}
	}
	a.beginStep()
	a.step.messages++
	a.step.all++
}

// replaced reports whether the step is one attempt that was abandoned.
func (s *aiStep) replaced() bool { return s.superseded && s.all == 1 && !s.kept }

func (a *aiSDK) callsInStep() bool {
	return slices.ContainsFunc(a.calls, func(c *aiCall) bool { return c.step == a.steps })
}

func (a *aiSDK) inputOpen() bool {
	return slices.ContainsFunc(a.calls, func(c *aiCall) bool { return c.inputOpen() })
}

// endMessage ends the content of the message. The step stays open for the results of
// its calls.
func (a *aiSDK) endMessage(e *events.Event) {
	if e.Place != nil {
		if i := slices.Index(a.prompts, *e.Place); i >= 0 {
			a.prompts = slices.Delete(a.prompts, i, i+1)
			return
		}
		for _, p := range slices.Clone(a.parts) {
			if p.place == *e.Place {
				a.endPartOf(p)
			}
		}
	}
	a.step.messages = max(0, a.step.messages-1)
	a.step.superseded, a.reason = e.Superseded, e.FinishReason
}

// aiFinishReason returns the finish reason of a model in the terms of the SDK.
func aiFinishReason(reason string) string {
	switch strings.ReplaceAll(strings.ToLower(reason), "-", "_") {
	case "", "stop", "end_turn", "stop_sequence", "complete", "completed", "eos":
		return "stop"
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return "length"
	case "content_filter", "content_filtered", "refusal", "safety", "guardrail_intervened", "prohibited_content", "blocklist", "recitation", "spii":
		return "content-filter"
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return "tool-calls"
	case "error", "error_toxic", "error_limit", "malformed_function_call":
		return "error"
	}
	return "other"
}
