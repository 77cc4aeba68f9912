package encode

import (
	"slices"
	"strconv"

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
