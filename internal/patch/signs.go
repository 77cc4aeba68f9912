package patch

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// vocabulary has the words that distinguish the messages of one shape from those
// of others. A word is a structural key, role or type, with the place where it
// counts:
//
//	role:tool            the role of a message
//	type:function_call   the type of a message that has no role
//	tool_calls           a key of a message
//	tool_calls.function  a key of an element of such a list
//	content:tool_use     the type of a block of the content
//	content.toolUse      a key of such a block
//	parts:tool-call      the type of a part; parts.functionCall: a key of a part
//	content:untyped      a block without a type; parts:typed and parts:untyped: a part
//	content{}.format     a key of content that is an object
//
// Words that no vocabulary has mean nothing: a message may have any further keys. A
// key with null, an empty list or an empty object counts as absent.

// unread has the names of the shapes that are recognised only to be refused, and
// their words.
func unread() map[string]string {
	return map[string]string{
		"AI SDK 4":                       "toolInvocations parts:tool-invocation",
		"Mastra":                         "content{}.format",
		"gemini-cli":                     "content{}.parts",
		"Strands":                        "message{}.content",
		"A2A":                            "parts.kind",
		"Pydantic AI":                    "parts.part_kind",
		"Haystack":                       "content.tool_call content.tool_call_result",
		"LlamaIndex":                     "blocks",
		"Semantic Kernel":                "items.$type",
		"Microsoft.Extensions.AI":        "contents.$type",
		"assistant-ui":                   "content.argsText",
		"OpenCode":                       "info{}.role",
		"pi":                             "role:toolResult content:toolCall",
		"LangChain messages with a role": "tool_calls.args content:tool_call content:invalid_tool_call content:function_call content:custom_tool_call",
		"":                               "tool_calls:unknown toolCalls:unknown",
	}
}

// lexicon has the words of all vocabularies.
type lexicon map[string]entry

// entry is a word with the formats that have it, as bits of their indices in
// shapes. A word of none of them is of a shape that is not read.
type entry struct {
	word          string
	claims, knows uint32
	unread        string // the name of that shape
}

func newLexicon() lexicon {
	l := lexicon{}
	for name, words := range unread() {
		for w := range strings.FieldsSeq(words) {
			l[w] = entry{word: w, unread: name}
		}
	}
	for i, f := range shapes {
		v, bit := f.about(), uint32(1)<<i
		for w := range strings.FieldsSeq(v.claims) {
			e := l[w]
			l[w] = entry{w, e.claims | bit, e.knows | bit, e.unread}
		}
		for w := range strings.FieldsSeq(v.knows) {
			e := l[w]
			l[w] = entry{w, e.claims, e.knows | bit, e.unread}
		}
	}
	return l
}

func (l lexicon) signs(message string, found []entry) []entry {
	var kind, role, content string
	for name, v := range members(message) {
		switch name {
		case "type":
			kind = text(v)
		case "role":
			role = text(v)
		case "content":
			content = v
		}
	}
	if !oneOf(strings.TrimSuffix(kind, "Chunk"), "chat ChatMessage") { // whose role is any text
		found = l.add(found, "role:"+role)
	}
	if role == "" {
		found = l.add(found, "type:"+strings.TrimSuffix(kind, "Chunk"))
	}
	typed := role == "" && kind != "" // the type tells how to read the other keys
	for name, v := range members(message) {
		switch {
		case absent(v):
		case typed:
			if name == "lc" || name == "call_id" {
				found = l.add(found, name)
			}
		case name == "blocks" && content != "": // a further key
		case role == "activity": // its content is any JSON
			found = l.add(found, name)
		default:
			found = l.memberSigns(name, v, found)
		}
	}
	return found
}

func (l lexicon) add(found []entry, word string) []entry {
	if e, ok := l[word]; ok {
		return append(found, e)
	}
	return found
}

func (l lexicon) memberSigns(name, value string, found []entry) []entry {
	found = l.add(found, name)
	switch name {
	case "content", "parts", "items", "contents", "tool_calls", "toolCalls":
		for _, e := range elements(value) {
			found = l.elementSigns(name, e, found)
		}
	}
	switch name {
	case "content", "message", "info":
		for key := range members(value) {
			found = l.add(found, name+"{}."+key)
		}
	}
	return found
}

func (l lexicon) elementSigns(list, element string, found []entry) []entry {
	calls := list == "tool_calls" || list == "toolCalls"
	if element[0] != '{' {
		if calls {
			found = l.add(found, list+":unknown")
		}
		return found
	}
	kind, before := text(member(element, "type")), len(found)
	for name, v := range members(element) {
		switch {
		case kind != "" && oneOf(name, "type kind"):
		case name == "function" || !absent(v):
			found = l.add(found, list+"."+name)
		}
	}
	named := len(found) > before
	switch {
	case calls && kind == "function" && !named:
		found = l.add(found, list+".function")
	case calls && !named:
		found = l.add(found, list+":unknown")
	case calls:
	case kind != "":
		if serverResult(kind) {
			kind = "*_tool_result"
		}
		found = l.add(l.add(found, list+":"+kind), list+":typed")
	case !named && !absent(element):
		found = l.add(found, list+":untyped")
	}
	return found
}

// absent reports whether a value counts as none: null, or an empty list or object.
func absent(v string) bool {
	return v == "null" || (v[0] == '[' || v[0] == '{') && strings.Trim(v, "[]{} \n\t\r") == ""
}

// recognise returns the format that the messages show, nil if they show none.
// Messages of two formats, or of a shape that is not read, are an error.
func recognise(d *document, l lexicon) (format, error) {
	var found format
	var bit uint32
	var by entry
	at := 0
	var signs []entry
	for m := range d.messages {
		signs = l.signs(d.at(m), signs[:0])
		for _, s := range signs {
			switch {
			case s.knows == 0:
				return nil, foreignError(m, s)
			case s.claims == 0 || s.knows&bit > 0:
			case found != nil && by.knows&s.claims == 0: // otherwise the new one shares the sign of the old one
				return nil, fmt.Errorf("patch: the messages are of two formats: message %d has %s of %s, and message %d has %s of %s",
					at, by, found.about().shape, m, s, shapes[bits.TrailingZeros32(s.claims)].about().shape)
			default:
				i := bits.TrailingZeros32(s.claims)
				found, bit, by, at = shapes[i], 1<<i, s, m
			}
		}
	}
	return found, nil
}

func checkSigns(d *document, l lexicon, f format) error {
	i := slices.IndexFunc(shapes[:], func(other format) bool { return other.about().shape == f.about().shape })
	bit := uint32(1) << i
	var signs []entry
	for m := range d.messages {
		signs = l.signs(d.at(m), signs[:0])
		for _, s := range signs {
			switch {
			case s.knows == 0:
				return foreignError(m, s)
			case s.knows&bit == 0:
				return fmt.Errorf("patch: message %d has %s of %s, which %s does not have (formats: %s)",
					m, s, shapes[bits.TrailingZeros32(s.knows)].about().shape, f.about().shape, wordList(Repairable()[1:]))
			}
		}
	}
	return nil
}

// foreignError refuses a message of a shape that is not read.
func foreignError(m int, s entry) error {
	of := s.unread
	if of != "" {
		of = " of " + of
	}
	return fmt.Errorf("patch: message %d has %s%s, which cannot be repaired (formats: %s)", m, s, of, wordList(Repairable()[1:]))
}

func (s entry) String() string {
	place, name, typed := strings.Cut(s.word, ":")
	switch {
	case name == "untyped" || name == "typed":
		return "an element " + map[string]string{"typed": "with", "untyped": "without"}[name] + ` a type in "` + place + `"`
	case name == "unknown":
		return `an element of "` + place + `" that is no known call`
	case typed && (place == "role" || place == "type"):
		return "the " + place + " " + quote(name)
	case typed:
		return "a block " + quote(name) + ` in "` + place + `"`
	}
	place, name, inside := strings.Cut(strings.Replace(s.word, "{}", "", 1), ".")
	if inside {
		return "the key " + quote(name) + ` in "` + place + `"`
	}
	return "the key " + quote(place)
}
