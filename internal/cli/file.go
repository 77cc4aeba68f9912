package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"streamer/internal/nearest"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// file is a configuration file in YAML, or in JSON, which is YAML too.
type file struct {
	name string
	root *yaml.Node // a mapping; nil if empty
}

// parseFile parses a file and checks its keys against the commands below root.
func parseFile(name string, text []byte, root *kong.Node) (*file, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &file{name: name}, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", name)
	}
	f := &file{name: name, root: doc.Content[0]}
	if f.root.Kind == yaml.ScalarNode && f.root.Tag == "!!null" {
		f.root = nil
		return f, nil
	}
	return f, f.check(f.root, root)
}

// check checks the keys of a mapping, which belongs to command n.
func (f *file) check(m *yaml.Node, n *kong.Node) error {
	if m.Kind != yaml.MappingNode {
		return f.at(m, "need a mapping of flags to values")
	}
	seen := map[string]bool{}
	names := known(n)
	for i := 0; i < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if seen[key.Value] {
			return f.at(key, "%s stands here a second time", key.Value)
		}
		seen[key.Value] = true
		if err := f.checkEntry(key, value, n, names); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) checkEntry(key, value *yaml.Node, n *kong.Node, names []string) error {
	if child := childOf(n, key.Value); child != nil {
		return f.check(value, child)
	}
	for _, name := range names {
		if name != key.Value {
			continue
		}
		if _, err := f.value(value); err != nil {
			return err
		}
		return nil
	}
	return f.at(key, "unknown key %q: did you mean %q?", key.Value, nearest.Name(key.Value, names))
}

// known returns the keys that a section may have: the flags of its command, or at
// the top those that mean the same in all commands; and the names of its commands.
func known(n *kong.Node) (names []string) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	var walk func(at *kong.Node)
	walk = func(at *kong.Node) {
		for _, f := range at.Flags {
			if (at == n && n.Parent != nil || shared(f)) && f.Name != ConfigFlag && f.Name != "help" {
				add(f.Name)
			}
		}
		for _, c := range at.Children {
			walk(c)
		}
	}
	walk(n)
	for _, c := range n.Children {
		if !c.Hidden {
			add(c.Name)
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
	if f.root == nil {
		return nil, 0
	}
	section, top := f.root, f.root
	for _, name := range commandPath(n) {
		if section = entry(section, name); section == nil {
			break
		}
	}
	v := entry(section, flag.Name)
	if v == nil && shared(flag) {
		v = entry(top, flag.Name)
	}
	if v == nil {
		return nil, 0
	}
	value, err := f.value(v)
	if err != nil {
		return nil, 0 // check has refused it
	}
	if flag.IsSlice() {
		if text, ok := value.(string); ok {
			value = []any{text}
		}
	}
	return value, v.Line
}

// entry returns the value of a key of a mapping, or nil.
func entry(m *yaml.Node, key string) *yaml.Node {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// value returns a scalar as text, or a list of them.
func (f *file) value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "", nil
		}
		return n.Value, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return nil, f.at(c, "need text or a number")
			}
			list = append(list, c.Value)
		}
		return list, nil
	case yaml.AliasNode:
		return f.value(n.Alias)
	default:
		return nil, f.at(n, "need text, a number, or a list of them")
	}
}

func (f *file) at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", f.name, n.Line, strings.TrimSpace(fmt.Sprintf(format, args...)))
}
