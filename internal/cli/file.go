package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"streamer/internal/nearest"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// file is a configuration file in YAML, or in JSON, which is YAML too.
type file struct {
	name    string
	entries map[string]entry // by keyPath
}

type entry struct {
	value any // text, or a list of texts
	line  int // 0 for the section of a command
}

func parseFile(name string, text []byte, root *kong.Node) (*file, error) {
	f := &file{name, map[string]entry{}}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", name)
	}
	return f, f.section(doc.Content[0], root)
}

func (f *file) section(m *yaml.Node, n *kong.Node) error {
	if m.Tag == "!!null" {
		return nil
	}
	if m.Kind != yaml.MappingNode {
		return f.at(m, "need a mapping of flags to values")
	}
	names := keysOf(n)
	for i := 0; i < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		path := keyPath(n, key.Value)
		if _, twice := f.entries[path]; twice {
			return f.at(key, "%s stands here a second time", key.Value)
		}
		var e entry
		var err error
		if child := childOf(n, key.Value); child != nil {
			err = f.section(value, child)
		} else if slices.Contains(names, key.Value) {
			e.line = value.Line
			e.value, err = f.value(value)
		} else {
			err = f.at(key, "unknown key %q: did you mean %q?", key.Value, nearest.Name(key.Value, names))
		}
		if err != nil {
			return err
		}
		f.entries[path] = e
	}
	return nil
}

func keyPath(n *kong.Node, key string) string {
	return strings.Join(append(commandPath(n), key), " ")
}

// keysOf returns the keys that a section may have: the flags of its command, those that
// mean the same in all commands below it, and the names of its commands.
func keysOf(n *kong.Node) (names []string) {
	var walk func(at *kong.Node)
	walk = func(at *kong.Node) {
		for _, f := range at.Flags {
			if (at == n || shared(f)) && f.Name != ConfigFlag && f.Name != "help" {
				names = append(names, f.Name)
			}
		}
		for _, c := range at.Children {
			walk(c)
		}
	}
	walk(n)
	for _, c := range n.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func childOf(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// find returns the value of a flag of a command and its line; nil and 0 if there is
// none. The section of the command takes precedence.
func (f *file) find(n *kong.Node, flag *kong.Flag) (any, int) {
	e, ok := f.entries[keyPath(n, flag.Name)]
	for ; !ok && shared(flag) && n.Parent != nil; n = n.Parent {
		e, ok = f.entries[keyPath(n.Parent, flag.Name)]
	}
	if text, isText := e.value.(string); isText && flag.IsSlice() {
		return []any{text}, e.line
	}
	return e.value, e.line
}

func (f *file) value(n *yaml.Node) (any, error) {
	switch {
	case n.Tag == "!!null":
		return "", nil
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case n.Kind == yaml.AliasNode:
		return f.value(n.Alias)
	case n.Kind != yaml.SequenceNode:
		return nil, f.at(n, "need text, a number, or a list of them")
	}
	list := []any{}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			return nil, f.at(c, "need text or a number")
		}
		list = append(list, c.Value)
	}
	return list, nil
}

func (f *file) at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", f.name, n.Line, fmt.Sprintf(format, args...))
}
