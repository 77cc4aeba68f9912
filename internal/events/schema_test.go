package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"streamer/internal/events"
)

// schema is the part of docs/events.schema.json that this test reads.
type schema struct {
	Title      string `json:"title"`
	Properties map[string]struct {
		Enum []string `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
	AllOf    []struct {
		If   schemaIf   `json:"if"`
		Then schemaThen `json:"then"`
	} `json:"allOf"`
	Defs map[string]*schema `json:"$defs"`
}

type schemaIf struct {
	Properties struct {
		Type struct {
			Enum []string `json:"enum"`
		} `json:"type"`
	} `json:"properties"`
}

type schemaThen struct {
	Required []string `json:"required"`
	AnyOf    []struct {
		Required []string `json:"required"`
	} `json:"anyOf"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile("../../docs/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := new(schema)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatalf("docs/events.schema.json: %v", err)
	}
	return s
}

// TestSchemaFields checks that the published schema has exactly the fields of an
// event.
func TestSchemaFields(t *testing.T) {
	s := readSchema(t)
	if want := fmt.Sprint("schema version ", events.SchemaVersion); !strings.HasSuffix(s.Title, want) {
		t.Errorf("the title is %q, want one that ends with %q", s.Title, want)
	}
	same(t, "fields of an event", fields(reflect.TypeFor[events.Event]()), names(s.Properties))
	same(t, "fields of a reason", fields(reflect.TypeFor[events.Reason]()), names(s.Defs["reason"].Properties))
	same(t, "fields of a target", fields(reflect.TypeFor[events.Target]()), names(s.Defs["target"].Properties))
	same(t, "fields of a reference", fields(reflect.TypeFor[events.Ref]()), names(s.Defs["ref"].Properties))
}

// TestSchemaWords checks that the published schema has exactly the types,
// statuses and codes.
func TestSchemaWords(t *testing.T) {
	s := readSchema(t)
	types := constants(t, "Type")
	var listed []string
	for _, typ := range events.Types() {
		listed = append(listed, string(typ))
	}
	same(t, "types that are listed", types, listed)
	types = slices.DeleteFunc(types, func(w string) bool { return w == string(events.Synthetic) })
	same(t, "event types", types, s.Properties["type"].Enum)
	same(t, "statuses", constants(t, "Status"), s.Properties["status"].Enum)
	same(t, "reason codes", constants(t, "Code"), s.Defs["reason"].Properties["code"].Enum)
	var conditional []string
	for _, c := range s.AllOf {
		conditional = append(conditional, c.If.Properties.Type.Enum...)
	}
	same(t, "event types with required fields", types, conditional)
}

// TestDocumentedEvents checks that the events in the documentation have the
// fields that their type requires and no others, in the order of a body, and
// that each type is documented.
func TestDocumentedEvents(t *testing.T) {
	s := readSchema(t)
	shown := map[string]bool{}
	for _, file := range []string{"../../docs/events.md", "../../README.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, `{"type":"`) || !strings.Contains(line, `"event_id"`) {
				continue
			}
			where := file + ":" + strconv.Itoa(i+1)
			var e events.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			if got, err := e.Body(); err != nil || string(got) != line {
				t.Errorf("%s is not the body of an event (%v):\n shown %s\n want  %s", where, err, line, got)
			}
			s.check(t, where, []byte(line))
			shown[string(e.Type)] = true
		}
	}
	same(t, "event types in the documentation", s.Properties["type"].Enum, names(shown))
}

// TestDocumentedWords checks that the documentation has every text, status and
// code.
func TestDocumentedWords(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	texts, text := read("repair.md"), read("events.md")
	for _, lang := range events.Langs {
		for _, kind := range []events.Text{events.TextNewMessage, events.TextInterrupted, events.TextArgs, events.TextCancelled, events.TextTimeout} {
			if s := events.Sentence(kind, lang); !strings.Contains(texts, "| `"+s+"` |") {
				t.Errorf("docs/repair.md lacks the text %s, %s: %s", kind, lang, s)
			}
		}
	}
	for _, word := range slices.Concat(constants(t, "Status"), constants(t, "Code")) {
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("docs/events.md does not mention %s", word)
		}
	}
}

// check reports missing fields and unknown words of an event.
func (s *schema) check(t *testing.T, where string, line []byte) {
	t.Helper()
	var e map[string]json.RawMessage
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	word := func(name string) string { return string(bytes.Trim(e[name], `"`)) }
	require := func(names []string) {
		for _, n := range names {
			if _, ok := e[n]; !ok {
				t.Errorf("%s: %s lacks %s", where, word("type"), n)
			}
		}
	}
	require(s.Required)
	for _, c := range s.AllOf {
		if !slices.Contains(c.If.Properties.Type.Enum, word("type")) {
			continue
		}
		require(c.Then.Required)
		one := len(c.Then.AnyOf) == 0
		for _, a := range c.Then.AnyOf {
			one = one || e[a.Required[0]] != nil
		}
		if !one {
			t.Errorf("%s: %s has none of %v", where, word("type"), c.Then.AnyOf)
		}
	}
	for name, p := range s.Properties {
		if e[name] != nil && p.Enum != nil && !slices.Contains(p.Enum, word(name)) {
			t.Errorf("%s: %s is %s, not one of %v", where, name, e[name], p.Enum)
		}
	}
}

// fields returns the JSON names of a struct's fields.
func fields(t reflect.Type) (list []string) {
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			list = append(list, fields(f.Type.Elem())...)
		case tag != "-":
			list = append(list, tag)
		}
	}
	return list
}

// constants returns the values of the package's constants of a type, from its
// source.
func constants(t *testing.T, typ string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range ast.Preorder(f) {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				continue
			}
			name, ok := spec.Type.(*ast.Ident)
			value, isWord := spec.Values[0].(*ast.BasicLit)
			if !ok || name.Name != typ || !isWord {
				continue
			}
			word, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, word)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no constants of type %s were found", typ)
	}
	return list
}

func names[V any](m map[string]V) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

// same compares two lists as sets.
func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: %q is missing", what, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: %q is not expected", what, g)
		}
	}
}
