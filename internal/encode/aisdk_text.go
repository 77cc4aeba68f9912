package encode

import (
	"slices"
	"strconv"
	"strings"

	"streamer/internal/events"
)

// human does nothing: the client has the messages of its user.
func (a *aiSDK) human(*events.Event) {}

func (a *aiSDK) content(e *events.Event) {
	if e.Place != nil && slices.Contains(a.prompts, *e.Place) {
		return
	}
	s := sourceOf(e)
	if i := findPart(a.parts, s); i >= 0 && a.parts[i].kind != contentKind(e) {
		a.endPartOf(a.parts[i])
	}
	if findPart(a.parts, s) < 0 {
		a.beginStep()
		p := textPart{source: s, kind: contentKind(e), id: strconv.Itoa(a.nextID)}
		a.nextID++
		a.parts = append(a.parts, p)
		a.send(aiChunk{Type: p.kind + "-start", ID: p.id, ProviderMetadata: aiOrigin(s.place)})
	}
	if e.Content != "" {
		a.deltas.add(s, e.Content)
	}
}

// aiOrigin returns the metadata of text that is not part of the main answer: that of
// a subgraph, or another choice.
func aiOrigin(p events.Place) any {
	if p.Namespace == "" && p.Choice == 0 {
		return nil
	}
	type origin struct {
		Namespace string `json:"namespace,omitempty"`
		Choice    int    `json:"choice,omitempty"`
	}
	return map[string]origin{"streamer": {p.Namespace, p.Choice}}
}

func (a *aiSDK) sendContent(s source, text string) {
	if i := findPart(a.parts, s); i >= 0 && text != "" {
		kind := "text-delta"
		if a.parts[i].kind == "reasoning" {
			kind = "reasoning-delta"
		}
		a.dst = deltaFrame(a.dst, kind, 0, "id", a.parts[i].id, "delta", text)
	}
}

func (a *aiSDK) endPart(e *events.Event) {
	if i := findPart(a.parts, sourceOf(e)); i >= 0 {
		a.endPartOf(a.parts[i])
	}
}

func (a *aiSDK) endPartOf(p textPart) {
	a.sendContent(p.source, a.deltas.take(p.source))
	a.send(aiChunk{Type: p.kind + "-end", ID: p.id})
	a.parts = slices.DeleteFunc(a.parts, func(o textPart) bool { return o.id == p.id })
}

func (a *aiSDK) endParts() {
	for len(a.parts) > 0 {
		a.endPartOf(a.parts[0])
	}
}

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
	if !a.begun {
		a.message = a.ids.take(e, a.message)
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
	return slices.ContainsFunc(a.calls, func(c *aiCall) bool { return !c.complete })
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
