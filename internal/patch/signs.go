package patch

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// A message is of a format if the format knows every part of it that could hold a call
// or a result. The vocabulary of a format has the words of such parts, and of the parts
// that distinguish it from others:
//
//	role:tool            the role of a message
//	type:function_call   the type of a message that has no role
//	user.message         a type, and a member that is a message itself
//	tool_calls           a key of a message; .tool_calls: of a LangChain message
//	tool_calls.function  a key of an element of such a list
//	content:tool_use     the type of a block of the content
//	content.argsText     a key of a block with a type
//	content/toolUse      a key of a block without a type
//	content:untyped      a block without a type or a known key; parts:typed: one with a type
//	content{}.format     a key of content that is an object
//
// All other parts mean nothing, unless they could hold a call or a result: no format
// knows those. A key with null, an empty list or an empty object counts as absent.

// lexicon has the words of all vocabularies.
type lexicon map[string]entry

// entry is a word with the formats that have it, as bits of their indices in
// shapes. A word that none knows is of a format that is not read.
type entry struct {
	word          string
	claims, knows uint32
}

func newLexicon() lexicon {
	l := lexicon{}
	for _, f := range foreign() {
		for w := range strings.FieldsSeq(f.refused) {
			l[w] = entry{word: w}
		}
	}
	for i, f := range shapes {
		v, bit := f.about(), uint32(1)<<i
		for w := range strings.FieldsSeq(v.claims) {
			e := l[w]
			l[w] = entry{w, e.claims | bit, e.knows | bit}
		}
		for w := range strings.FieldsSeq(v.knows) {
			e := l[w]
			l[w] = entry{w, e.claims, e.knows | bit}
		}
	}
	return l
}

// signs appends the words of a message, and those that no format knows.
func (l lexicon) signs(message string, found []entry) []entry {
	var kind, role, content string
	scan(message, to{"type", &kind}, to{"role", &role}, to{"content", &content})
	kind, role = strings.TrimSuffix(text(kind), "Chunk"), text(role)
	chat := oneOf(kind, "chat ChatMessage") // whose role is any text
	if role == "" && kind != "" || chat {
		return l.typedSigns(kind, message, found)
	}
	found = l.add(found, "role:", role, isTool(role))
	for name, v := range members(message) {
		switch {
		case absent(v), oneOf(name, "role type"):
		case oneOf(name, "call_id callId"): // of an item without its type
			found = append(found, entry{word: name})
		case name == "blocks" && content != "": // a further key
		case role == "activity" && name == "content": // any JSON
		default:
			found = l.memberSigns("", name, v, found)
		}
	}
	return found
}

// typedSigns adds the words of a message whose type tells how to read its other keys. Only
// those of LangChain have further keys with calls.
func (l lexicon) typedSigns(kind, message string, found []entry) []entry {
	of, known := l["type:"+kind]
	found = l.add(found, "type:", kind, !known && couldHold(message, maxHeld))
	for name, v := range members(message) {
		switch {
		case absent(v):
		case oneOf(name, "lc call_id callId"):
			found = l.add(found, "", name, false)
		case name == "message" && v[0] == '{':
			return l.signs(v, l.add(found, kind, ".message", false))
		}
	}
	langchain := l["lc"].knows
	if of.knows&langchain == 0 {
		return found
	}
	first := len(found)
	for name, v := range members(langchainBody(message).fields) {
		if !absent(v) && !oneOf(name, "type role lc") {
			found = l.memberSigns(".", name, v, found)
		}
	}
	for i := first; i < len(found); i++ { // a format of rows knows all of such a row
		found[i].knows |= of.knows &^ langchain
	}
	return found
}

// add adds the word of a name at a place if a format knows it, or if it could hold a call.
func (l lexicon) add(found []entry, place, name string, held bool) []entry {
	if e, ok := l[place+name]; ok {
		return append(found, e)
	}
	if held {
		return append(found, entry{word: place + name})
	}
	return found
}

// addMember adds the word of a member, whose value is only examined if no format knows it.
func (l lexicon) addMember(found []entry, place, name, value string) []entry {
	if e, ok := l[place+name]; ok {
		return append(found, e)
	}
	return l.add(found, place, name, holds(name, value, maxHeld))
}

// memberSigns adds the words of a member. in is "." for a LangChain message.
func (l lexicon) memberSigns(in, name, value string, found []entry) []entry {
	if value[0] == '[' && oneOf(name, "content parts items contents tool_calls toolCalls tool_results") {
		found = l.add(found, in, name, false)
		for _, e := range elements(value) {
			found = l.elementSigns(in+name, e, found)
		}
		return found
	}
	before := len(found)
	if value[0] == '{' && oneOf(name, "content message info") {
		for key := range members(value) {
			found = l.add(found, name+"{}.", key, false)
		}
	}
	if len(found) > before {
		return l.add(found, in, name, false)
	}
	return l.addMember(found, in, name, value)
}

func (l lexicon) elementSigns(list, element string, found []entry) []entry {
	kind := ""
	if element[0] == '{' {
		kind = text(member(element, "type"))
	}
	switch strings.TrimPrefix(list, ".") {
	case "tool_calls", "toolCalls", "tool_results":
		return l.callSigns(list, kind, element, found)
	}
	switch {
	case element[0] != '{':
		return found
	case kind == "":
		return l.untypedSigns(list, element, found)
	}
	free := kind == "text" || strings.HasPrefix(kind, "data-") // a part with any JSON
	for name, v := range members(element) {
		if name == "content" || !free && !absent(v) && !oneOf(name, "type kind") {
			found = l.add(found, list+".", name, false)
		}
	}
	if serverResult(kind) {
		kind = "*_tool_result"
	}
	if _, known := l[list+":"+kind]; known || free {
		return l.add(l.add(found, list+":", kind, false), list, ":typed", false)
	}
	if head, _, ok := strings.Cut(kind, "-"); ok && l[list+":"+head+"-*"].word != "" {
		kind = head + "-*"
	}
	_, known := l[list+":"+kind]
	return l.add(l.add(found, list+":", kind, !known && couldHold(element, maxHeld)), list, ":typed", false)
}

// callSigns adds the words of an element of a list of calls or results.
func (l lexicon) callSigns(list, kind, element string, found []entry) []entry {
	before, bare := len(found), true
	for name, v := range members(element) {
		switch {
		case name == "function" && v[0] == '"':
			return l.add(found, list, ".function:text", true)
		case name == "function" || !absent(v):
			found = l.add(found, list+".", name, false)
		}
		bare = bare && !oneOf(name, "name arguments")
	}
	switch {
	case len(found) > before:
		return found
	case kind == "function" && bare:
		return l.add(found, list, ".function", false)
	}
	return l.add(found, list, ":unknown", true)
}

// untypedSigns adds the words of a block without a type.
func (l lexicon) untypedSigns(list, element string, found []entry) []entry {
	before := len(found)
	for name, v := range members(element) {
		if !absent(v) {
			found = l.addMember(found, list+"/", name, v)
		}
	}
	if len(found) == before && !absent(element) {
		return l.add(found, list, ":untyped", couldHold(element, maxHeld))
	}
	return found
}

// absent reports whether a value counts as none: null, or an empty list or object.
func absent(v string) bool {
	return v == "null" || (v[0] == '[' || v[0] == '{') && strings.Trim(v, "[]{} \n\t\r") == ""
}

// formatOf returns the format of that name, or the only one that knows all words of the
// messages. A word that it does not know is an error.
func formatOf(shape Shape, d *document) (format, error) {
	f := formatNamed(shape)
	if f == nil && shape != "" && shape != Auto {
		return nil, fmt.Errorf("patch: unknown history format %q (known: %s)", shape, wordList(Repairable()))
	}
	l := newLexicon()
	if f != nil {
		return f, l.check(d, f)
	}
	f, err := l.recognise(d)
	if f != nil || err != nil {
		return f, err
	}
	if f, err = plainFormat(d); err != nil {
		return nil, d.named(err)
	}
	return f, l.check(d, f)
}

// recognise returns the format that the messages show, nil if they show none.
func (l lexicon) recognise(d *document) (format, error) {
	var signs []entry
	var by entry // the last word that distinguishes a format
	left, claimed, at := ^uint32(0), uint32(0), 0
	for m := range d.messages {
		signs = l.signs(d.at(m), signs[:0])
		for _, s := range signs {
			switch {
			case s.knows == 0:
				return nil, d.foreignError(m, s)
			case left&s.knows == 0:
				return nil, d.named(fmt.Errorf("patch: the messages are of two formats: message %d has %s of %s, and message %d has %s of %s",
					at, by, shapeOf(left), m, s, shapeOf(s.knows)))
			}
			left &= s.knows
			if claimed |= s.claims; s.claims > 0 || by.word == "" {
				by, at = s, m
			}
		}
	}
	switch {
	case claimed == 0:
		return nil, nil
	case left&claimed > 0:
		left &= claimed
	}
	return shapes[bits.TrailingZeros32(left)], nil
}

// check refuses messages with a word that the format does not know.
func (l lexicon) check(d *document, f format) error {
	i := slices.IndexFunc(shapes[:], func(other format) bool { return other.about().shape == f.about().shape })
	var signs []entry
	for m := range d.messages {
		signs = l.signs(d.at(m), signs[:0])
		for _, s := range signs {
			switch {
			case s.knows == 0:
				return d.foreignError(m, s)
			case s.knows&(1<<i) == 0:
				return d.named(fmt.Errorf("patch: message %d has %s of %s, which %s does not have (formats: %s)",
					m, s, shapeOf(s.knows), f.about().shape, wordList(Repairable()[1:])))
			}
		}
	}
	return nil
}

func shapeOf(of uint32) Shape { return shapes[bits.TrailingZeros32(of)].about().shape }

func (s entry) String() string {
	word := strings.TrimPrefix(s.word, ".")
	place, name, typed := strings.Cut(word, ":")
	switch {
	case name == "untyped" || name == "typed":
		return "an element " + map[string]string{"typed": "with", "untyped": "without"}[name] + ` a type in "` + place + `"`
	case name == "unknown":
		return `an element of "` + place + `" that is no known call`
	case typed && name == "text" && strings.HasSuffix(place, ".function"):
		return `a call in "` + strings.TrimSuffix(place, ".function") + `" whose "function" is a text`
	case typed && (place == "role" || place == "type"):
		return "the " + place + " " + quote(name)
	case typed:
		return "a block " + quote(name) + ` in "` + place + `"`
	}
	place, name, inside := strings.Cut(strings.NewReplacer("{}", "", "/", ".").Replace(word), ".")
	if inside {
		return "the key " + quote(name) + ` in "` + place + `"`
	}
	return "the key " + quote(place)
}
