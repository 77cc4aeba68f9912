// Package clients_test makes the types of events, for the clients in JavaScript and Python,
// of the schema of events.
package clients_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/docs"
	"streamer/test/testkit"

	"github.com/tidwall/gjson"
)

// TestTypes checks that the types are those of docs/events.schema.json.
func TestTypes(t *testing.T) {
	s := readSchema(t)
	testkit.Golden(t, "js/event.d.ts", s.typeScript())
	testkit.Golden(t, "python/streamer_client/bodies.py", s.python())
}

// schema has what the types need of the schema of events.
type schema struct {
	gjson.Result
	types []eventType
}

// eventType is the fields of a type of events besides those that all have.
type eventType struct {
	name   string
	base   string // which has some of the fields
	fields []field
}

type field struct {
	name     string
	optional bool
	of       gjson.Result // its schema
	doc      string
}

// bases are the fields that the events about a message, and about a call, have in common. Each
// has those of the bases before it.
var bases = []struct {
	name   string
	fields []string
}{
	{"EventBase", []string{"event_id", "session", "timestamp"}},
	{"MessageEvent", []string{"message_id", "namespace", "choice"}},
	{"ToolCallEvent", []string{"call", "id", "uid", "index", "id_synthesized", "tool_name"}},
}

func readSchema(t *testing.T) *schema {
	s := &schema{Result: gjson.ParseBytes(docs.EventSchema)}
	for _, name := range s.Get("properties.type.enum").Array() {
		s.types = append(s.types, s.typeOf(t, name.Str))
	}
	return s
}

// typeOf returns the type of events with a name: what the schema requires of it is there, and
// all other fields that its rules mention may be.
func (s *schema) typeOf(t *testing.T, name string) eventType {
	required, optional := map[string]bool{}, map[string]bool{"run": true}
	narrower := map[string]gjson.Result{}
	for _, rule := range s.Get("allOf").Array() {
		if !slices.ContainsFunc(rule.Get("if.properties.type.enum").Array(), func(v gjson.Result) bool { return v.Str == name }) {
			continue
		}
		for _, f := range rule.Get("then.required").Array() {
			required[f.Str] = true
		}
		for _, f := range rule.Get("then.anyOf.#.required|@flatten").Array() {
			optional[f.Str] = true
		}
		rule.Get("then.properties").ForEach(func(key, v gjson.Result) bool {
			optional[key.Str] = true
			if v.Get("enum").Exists() {
				narrower[key.Str] = v
			}
			return true
		})
	}
	e := eventType{name: name}
	inBase := map[string]bool{"type": true}
	for _, b := range bases {
		if b.name == "EventBase" || required[b.fields[0]] {
			e.base = b.name
			for _, f := range b.fields {
				inBase[f] = true
			}
		}
	}
	s.Get("properties").ForEach(func(key, v gjson.Result) bool {
		f := key.Str
		if !inBase[f] && (required[f] || optional[f]) {
			e.fields = append(e.fields, s.field(f, !required[f], narrower[f]))
		}
		delete(optional, f)
		return true
	})
	if len(optional) > 0 {
		t.Errorf("docs/events.schema.json: %s has fields without a schema: %v", name, optional)
	}
	return e
}

// field returns a field whose schema is narrower, or the general one.
func (s *schema) field(name string, optional bool, narrower gjson.Result) field {
	of := s.Get("properties." + name)
	doc := cmp.Or(of.Get("description").Str, s.ref(of).Get("description").Str)
	if narrower.Exists() {
		of = narrower
	}
	return field{name, optional, of, doc}
}

func (s *schema) ref(of gjson.Result) gjson.Result {
	if name, ok := strings.CutPrefix(of.Get("$ref").Str, "#/$defs/"); ok {
		return s.Get("$defs." + name)
	}
	return of
}

// fieldsOf returns the fields of a base.
func (s *schema) fieldsOf(names []string) (list []field) {
	for _, name := range names {
		optional := s.Get(`allOf.#(if.required.0=="call").then.properties.` + name).Exists()
		list = append(list, s.field(name, optional, gjson.Result{}))
	}
	return list
}

// fieldsOfObject returns those of an object in a field.
func (s *schema) fieldsOfObject(name string) (list []field) {
	object := s.Get("$defs." + name)
	required := object.Get("required").Array()
	object.Get("properties").ForEach(func(key, v gjson.Result) bool {
		needed := slices.ContainsFunc(required, func(r gjson.Result) bool { return r.Str == key.Str })
		list = append(list, field{key.Str, !needed, v, v.Get("description").Str})
		return true
	})
	return list
}

// title returns the name of a type: ToolCallStart.
func title(name string) (text string) {
	for word := range strings.SplitSeq(name, "_") {
		text += strings.ToUpper(word[:1]) + word[1:]
	}
	return text
}

// language has the names of types.
type language struct {
	names map[string]string // of JSON Schema
	list  string            // a format
	words func([]string) string
}

func (s *schema) typeIn(l *language, of gjson.Result) string {
	if name, ok := strings.CutPrefix(of.Get("$ref").Str, "#/$defs/"); ok && s.Get("$defs."+name+".type").Str == "object" {
		return title(name)
	}
	of = s.ref(of)
	if words := of.Get("enum").Array(); len(words) > 0 {
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = `"` + w.Str + `"`
		}
		return l.words(list)
	}
	if of.Get("type").Str == "array" {
		return fmt.Sprintf(l.list, s.typeIn(l, of.Get("items")))
	}
	if list := of.Get("type").Array(); len(list) != 3 { // any JSON, or one type
		return cmp.Or(l.names[of.Get("type").Str], l.names["any"])
	}
	return l.names["index"]
}

const header = "Made of docs/events.schema.json by `go test ./clients -update`.\n"

func (s *schema) typeScript() string {
	l := &language{
		names: map[string]string{"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "object": "Record<string, any>", "any": "any", "index": "number | string"},
		list:  "%s[]",
		words: func(list []string) string { return strings.Join(list, " | ") },
	}
	var b strings.Builder
	b.WriteString("// " + header)
	write := func(doc, head string, fields []field) {
		fmt.Fprintf(&b, "\n%sexport interface %s {\n", doc, head)
		for _, f := range fields {
			if f.doc != "" {
				fmt.Fprintf(&b, "  /** %s */\n", f.doc)
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", f.name, map[bool]string{true: "?"}[f.optional], s.typeIn(l, f.of))
		}
		b.WriteString("}\n")
	}
	for _, name := range []string{"reason", "target", "ref"} {
		write("", title(name), s.fieldsOfObject(name))
	}
	for i, base := range bases {
		head, fields := base.name, s.fieldsOf(base.fields)
		if i > 0 {
			head += " extends " + bases[i-1].name
		} else {
			fields = append([]field{{name: "seq", of: gjson.Parse(`{"type":"integer"}`), doc: "The sequence in the event log, for `after`."}}, fields...)
		}
		write("", head, fields)
	}
	for _, e := range s.types {
		typ := field{name: "type", of: gjson.Parse(`{"enum":["` + e.name + `"]}`)}
		write("", title(e.name)+" extends "+e.base, append([]field{typ}, e.fields...))
	}
	b.WriteString("\n/** The types of events by their names. */\nexport interface EventTypes {\n")
	for _, e := range s.types {
		fmt.Fprintf(&b, "  %s: %s;\n", e.name, title(e.name))
	}
	b.WriteString("}\n")
	return b.String()
}

func (s *schema) python() string {
	l := &language{
		names: map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]", "any": "Any", "index": "float | str"},
		list:  "list[%s]",
		words: func(list []string) string { return "Literal[" + strings.Join(list, ", ") + "]" },
	}
	var b strings.Builder
	b.WriteString("\"\"\"The bodies of events, by their types. docs/events.md describes the fields.\n\n" + header + "\"\"\"\n" + `
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired
`)
	write := func(name, base string, fields []field) {
		fmt.Fprintf(&b, "\n\nclass %s(%s):\n", name, base)
		for _, f := range fields {
			text := s.typeIn(l, f.of)
			if f.optional {
				text = "NotRequired[" + text + "]"
			}
			if line := "    " + f.name + ": " + text; len(line) > 120 {
				text = strings.NewReplacer("Literal[", "Literal[\n        ", `", "`, "\",\n        \"", "]", ",\n    ]").Replace(text)
			}
			fmt.Fprintf(&b, "    %s: %s\n", f.name, text)
		}
	}
	for _, name := range []string{"reason", "target", "ref"} {
		write(title(name), "TypedDict", s.fieldsOfObject(name))
	}
	for i, base := range bases {
		of := "TypedDict"
		if i > 0 {
			of = bases[i-1].name
		}
		write(base.name, of, s.fieldsOf(base.fields))
	}
	var names []string
	for _, e := range s.types {
		names = append(names, title(e.name))
		typ := field{name: "type", of: gjson.Parse(`{"enum":["` + e.name + `"]}`)}
		write(title(e.name), e.base, append([]field{typ}, e.fields...))
	}
	fmt.Fprintf(&b, "\n\nBody = Union[\n    %s,\n]\n", strings.Join(names, ",\n    "))
	return b.String()
}
