package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
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

// Resolve returns the value of a flag that is not on the command line, nil if there
// is none.
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

// configError is an error in the configuration file, whichever flag was resolved
// when it was found.
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
