package encode

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"streamer/internal/events"
)

// Ids that the input does not have are made of the id of the event with which the message
// or the call began, so they are the same in each stream, and unique in the session.
const (
	messagePrefix = "msg_"
	resultPrefix  = "res_"
)

func messageID(id events.ID) string { return messagePrefix + id.String() }

func resultID(id events.ID) string { return resultPrefix + id.String() }

// repeated reports whether a stream whose first event is first has the message of an
// id.
func repeated(id string, first events.ID) bool {
	rest, ok := strings.CutPrefix(id, messagePrefix)
	if !ok {
		if rest, ok = strings.CutPrefix(id, resultPrefix); !ok {
			return false
		}
	}
	rest, _, _ = strings.Cut(rest, "_")
	at, err := events.ParseID(rest)
	return err == nil && !first.After(at)
}

// agHistoryMessage has the fields of a message of the client that matter here.
type agHistoryMessage struct {
	ID       string          `json:"id"`
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content"`
	Subagent *string         `json:"subagentRunId"`
}

// echo returns the messages of the client as they must be before the stream repeats
// its own: results are absent, and other messages are empty in their places. It
// remembers what the client's users asked.
func (a *agUI) echo(messages []json.RawMessage) []json.RawMessage {
	list := make([]json.RawMessage, 0, len(messages))
	for _, raw := range messages {
		var m agHistoryMessage
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		switch {
		case !a.repeats(&m):
			if m.Role == "user" && !strings.HasPrefix(m.ID, messagePrefix) { // not one of an earlier stream
				a.known.add(m.ID, m.Content)
			}
			list = append(list, raw)
		case m.Role != "tool":
			if a.echoed == nil {
				a.echoed = map[string]string{}
			}
			a.echoed[m.ID] = ""
			if m.Subagent != nil {
				a.echoed[m.ID] = *m.Subagent
			}
			list = append(list, emptied(m))
		}
	}
	return list
}

// repeats reports whether the stream repeats a message of the client: one that is the model's
// in the log, or has an id that was made for a stream.
func (a *agUI) repeats(m *agHistoryMessage) bool {
	id := reasoningPart.ReplaceAllString(m.ID, "")
	ofModel := m.Role == "assistant" || m.Role == "reasoning"
	return repeated(m.ID, a.first) || ofModel && a.stored[id] && !a.ids.earlier[id]
}

// emptied returns a message without its content. An omitted message would lose its
// place, and reasoning that is omitted is kept by the client.
func emptied(m agHistoryMessage) json.RawMessage {
	end := `,"content":""}`
	if m.Role == "assistant" {
		end = "}"
	}
	if m.Subagent != nil {
		end = `,"subagentRunId":` + string(events.Quote(*m.Subagent)) + end
	}
	return json.RawMessage(`{"id":` + string(events.Quote(m.ID)) + `,"role":` + string(events.Quote(m.Role)) + end)
}

// knownTexts are the messages of users that a client has: the texts by their ids, and the
// digests of the texts. The zero value is empty.
type knownTexts struct {
	ids   map[string]string
	texts map[[sha256.Size]byte]bool
}

// add adds a message. Its content is a string, or a list of parts with texts.
func (k *knownTexts) add(id string, content json.RawMessage) {
	if k.ids == nil {
		k.ids, k.texts = map[string]string{}, map[[sha256.Size]byte]bool{}
	}
	k.ids[id] = ""
	var text string
	if json.Unmarshal(content, &text) != nil {
		var parts []struct{ Text string }
		if json.Unmarshal(content, &parts) != nil {
			return
		}
		for _, p := range parts {
			text += p.Text
		}
	}
	k.ids[id], k.texts[sha256.Sum256([]byte(text))] = text, true
}

// rest returns what a client lacks of a message: all, nothing, or the end if its stream was
// cut off in the message.
func (k *knownTexts) rest(id, text string) string {
	has, known := k.ids[id]
	rest, begins := strings.CutPrefix(text, has)
	switch {
	case k.texts[sha256.Sum256([]byte(text))], known && !begins:
		return ""
	case known:
		return rest
	}
	return text
}
