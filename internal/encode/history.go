package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"streamer/internal/events"
)

// History is a shape in which the messages of a session are written.
type History struct {
	Name     string
	protocol string // by whose frames its messages are built
	new      func() transcript
}

// transcript builds messages as a client of its protocol does.
type transcript interface {
	frame(data []byte) // applies the data of a frame
	// ask adds a message of a person, or the next part of the last one if id is "".
	ask(id, text string)
	messages() []any
}

// histories lists the shapes; each is one file. The first is the default.
var histories = [...]History{
	{"ai-ui", "ai-sdk", func() transcript { return new(uiTranscript) }},
	{"ag-ui", "ag-ui", func() transcript { return new(agTranscript) }},
	{"openai", "ag-ui", func() transcript { return new(openAITranscript) }},
	{"anthropic", "ag-ui", func() transcript { return new(anthropicTranscript) }},
}

// FindHistory returns the named shape; "" means the first. The error lists the known ones.
func FindHistory(name string) (*History, error) {
	var names []string
	for i := range histories {
		if h := &histories[i]; h.Name == name || name == "" {
			return h, nil
		}
		names = append(names, histories[i].Name)
	}
	return nil, fmt.Errorf("unknown format %q; the formats are %s", name, strings.Join(names, ", "))
}

// Turn is a turn of a History: the run with this id, with those that it continues.
type Turn struct {
	From uint64 // it starts after this sequence
	Run  string
}

// Stored is an event as it is stored and parsed, with its large values.
type Stored struct {
	events.Record
	Event *events.Event
}

// Messages returns the messages of some turns that follow each other, as JSON objects: those
// that a client has after it read the stream of each. log has the events from the first
// turn on; a call that ended after its turn ends in it. earlier has the ids of the messages
// of the turns before.
func (h *History) Messages(session string, turns []Turn, log []Stored, earlier map[string]bool) (list []json.RawMessage, err error) {
	p, err := Find(h.protocol)
	if err != nil {
		return nil, err
	}
	if earlier = maps.Clone(earlier); earlier == nil {
		earlier = map[string]bool{}
	}
	if len(turns) == 0 {
		turns = []Turn{{}}
	}
	t := h.new()
	for i, part := range splitTurns(turns, log) {
		open := Opening{Session: session, Run: turns[i].Run, Earlier: earlier}
		replay(p.New(), open, part, t)
		for _, s := range part {
			if s.Type == events.MessageStarted || s.Type == events.HumanMessage {
				earlier[placeOf(s.Event).MessageID] = true
			}
		}
	}
	list = []json.RawMessage{}
	for _, m := range t.messages() {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(m); err != nil {
			return nil, fmt.Errorf("encode: message %d: %w", len(list), err)
		}
		list = append(list, bytes.TrimSpace(b.Bytes()))
	}
	return list, nil
}

// splitTurns returns the events of each turn. Those of a call belong to the turn in which it
// started, because the client has it in a message of that.
func splitTurns(turns []Turn, log []Stored) [][]Stored {
	list := make([][]Stored, len(turns))
	started := map[string]int{} // turns by call
	at := 0
	for _, s := range log {
		for at+1 < len(turns) && s.Seq > turns[at+1].From {
			at++
		}
		i := at
		if s.Call != "" {
			if of, ok := started[s.Call]; ok {
				i = of
			}
			started[s.Call] = i
		}
		list[i] = append(list[i], s)
	}
	return list
}

// replay applies the stream of a turn, as a client reads it afterwards.
func replay(enc Encoder, open Opening, turn []Stored, t transcript) {
	apply := func(b []byte) {
		for line := range bytes.Lines(b) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				t.frame(data)
			}
		}
	}
	apply(enc.Open(nil, open))
	ids := messageIDs{earlier: open.Earlier}
	for _, s := range turn {
		switch e := s.Event; {
		case s.Type == events.HumanMessage && placeOf(e).Namespace == "":
			id := ""
			if e.Offset.Bytes() <= 0 {
				id = ids.take(e, messageID(e.EventID))
			}
			t.ask(id, e.Content)
		default:
			apply(enc.Event(nil, s.Record, e))
		}
	}
	apply(enc.Live(nil, 0))
}
