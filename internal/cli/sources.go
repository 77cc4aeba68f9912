package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"streamer/internal/nearest"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// The sources of the values of flags besides variables, which are named, and files, which
// are named with the line.
const (
	commandLine  = "command line"
	defaultValue = "default"
)

// sources implements kong.Resolver: it finds values in the environment and in the
// configuration file. With kong.DefaultEnvars and kong.Configuration a file would win
// over variables, the names of variables would not name their commands, and the source
// of a value would not be known.
type sources struct {
	env  func(string) (string, bool)
	root *kong.Node
	file *file                  // nil until it is read
	from map[*kong.Value]string // the source of each value that was found
}

// Validate accepts every grammar, because the file is not known yet.
func (s *sources) Validate(*kong.Application) error { return nil }

func (s *sources) Resolve(c *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
	if f == c.Model.HelpFlag {
		return nil, nil
	}
	name := EnvName(parent.Node(), f)
	if text, ok := s.env(name); ok {
		s.from[f.Value] = name
		if f.IsSlice() {
			return items(text), nil
		}
		return text, nil
	}
	if f.Name == ConfigFlag {
		return nil, nil
	}
	if err := s.open(c); err != nil {
		return nil, &configError{err}
	}
	v, line := s.file.find(parent.Node(), f)
	if line > 0 {
		s.from[f.Value] = fmt.Sprintf("%s:%d", s.file.name, line)
	}
	return v, nil
}

// items returns the values of a repeated flag in a variable, which commas separate.
func items(text string) []any {
	list := []any{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// open reads the configuration file, once.
func (s *sources) open(c *kong.Context) error {
	if s.file != nil {
		return nil
	}
	s.file = &file{}
	name, _ := s.env("STREAMER_CONFIG")
	for _, p := range c.Path {
		if p.Flag != nil && p.Flag.Name == ConfigFlag && !p.Resolved {
			name, _ = c.FlagValue(p.Flag).(string)
		}
	}
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("--%s: %w", ConfigFlag, err)
	}
	s.file, err = parseFile(name, text, s.root)
	return err
}

// configError is an error in the configuration file, found at any flag.
type configError struct{ error }

// attribute adds to the error of a flag where its value comes from. It leaves out
// the empty word, which stands for a flag without a value.
func (s *sources) attribute(text string) string {
	text = strings.Replace(text, `must be one of "",`, "must be one of ", 1)
	for v, from := range s.from {
		if strings.HasPrefix(text, "--"+v.Name+":") || strings.HasPrefix(text, "--"+v.Name+" ") {
			return fmt.Sprintf("%s (from %s)", text, from)
		}
	}
	return text
}

// EnvName returns the name of the variable of a flag.
func EnvName(n *kong.Node, f *kong.Flag) string {
	name := f.Name
	if path := commandPath(n); !shared(f) && len(path) > 0 {
		name = strings.Join(path, "_") + "_" + name
	}
	return "STREAMER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// shared reports whether a flag means the same in all commands that have it.
func shared(f *kong.Flag) bool { return f.Group != nil }

func commandPath(n *kong.Node) (path []string) {
	for ; n != nil && n.Type == kong.CommandNode; n = n.Parent {
		path = append([]string{n.Name}, path...)
	}
	return path
}

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
	flags := flagsOf(n)
	for i := 0; i < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		path := keyPath(n, key.Value)
		if _, twice := f.entries[path]; twice {
			return f.at(key, "%s stands here a second time", key.Value)
		}
		var e entry
		var err error
		child, isFlag := childOf(n, key.Value), slices.Contains(flags, key.Value)
		switch {
		case child != nil && (!isFlag || value.Kind == yaml.MappingNode): // tap is a command and a flag
			err = f.section(value, child)
		case isFlag:
			e.line = value.Line
			e.value, err = f.value(value)
		default:
			meant := nearest.Typo(key.Value, append(flags, commandsOf(n)...))
			err = f.at(key, "unknown key %q%s", key.Value, UnknownVariable{Meant: meant}.Question())
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

// flagsOf returns the flags that a section may have: those of its command, and those that
// mean the same in all commands below it.
func flagsOf(n *kong.Node) (names []string) {
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
	return names
}

func commandsOf(n *kong.Node) (names []string) {
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
