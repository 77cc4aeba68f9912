package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// ErrHelp is the error of a command line that asks for help, which is printed.
var ErrHelp = errors.New("help was printed")

// ConfigFlag is the name of the flag with the configuration file.
const ConfigFlag = "config"

// Options are the parts of a program besides its grammar.
type Options struct {
	Name, Description string
	Groups            []kong.Group
	Vars              kong.Vars
	Words             map[string][]string // that flags with the tag words accept
	Env               func(name string) (value string, ok bool)
	Out               io.Writer // receives help that was asked for
}

// Parser parses command lines.
type Parser struct {
	kong    *kong.Kong
	sources *sources
	helped  bool
}

// New returns a parser of a grammar, a pointer to a struct with the tags of kong.
func New(grammar any, o Options) (*Parser, error) {
	p := &Parser{}
	p.sources = &sources{env: o.Env, from: map[*kong.Value]string{}}
	k, err := kong.New(grammar,
		kong.Name(o.Name), kong.Description(o.Description), o.Vars,
		kong.ExplicitGroups(o.Groups),
		kong.Writers(o.Out, o.Out),
		kong.Exit(func(int) { p.helped = true }),
		kong.WithHyphenPrefixedParameters(true),
		kong.Resolvers(p.sources),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: helpWidth}),
		kong.ValueFormatter(FlagHelp),
	)
	if err != nil {
		return nil, fmt.Errorf("the grammar of the command line: %w", err)
	}
	k.Model.HelpFlag.Help = "print this help"
	setWords(k.Model.Node, o.Words)
	p.kong, p.sources.root = k, k.Model.Node
	return p, nil
}

const helpWidth = 110

// Model returns the commands and flags of the grammar.
func (p *Parser) Model() *kong.Application { return p.kong.Model }

// FlagHelp returns the help of a flag with its default.
func FlagHelp(v *kong.Value) string {
	switch {
	case v.Flag == nil || v.Default == "" || v.Default == "0" || v.Default == "0s" || v.Default == "false":
		return v.Help
	default:
		return v.Help + " (default " + Short(v.Default) + ")"
	}
}

// Parse parses the arguments. Its errors are of type *UsageError, besides ErrHelp.
func (p *Parser) Parse(args []string) (*Invocation, error) {
	c, err := p.kong.Parse(args)
	if p.helped {
		return nil, ErrHelp
	}
	if wrong, ok := errors.AsType[*configError](err); ok {
		return nil, &UsageError{Text: wrong.Error()}
	}
	if err != nil {
		failed, _ := errors.AsType[*kong.ParseError](err)
		var at *kong.Node
		if failed != nil && failed.Context != nil {
			at = failed.Context.Selected()
		}
		return nil, &UsageError{Command: at, Text: p.sources.attribute(err.Error())}
	}
	i := &Invocation{Context: c, sources: p.sources}
	if f := i.negative(); f != nil {
		return nil, i.Misused("invalid --%s %v: need at least 0", f.Name, f.Target)
	}
	return i, nil
}

// UsageError is an error in the arguments of a command.
type UsageError struct {
	Command *kong.Node // nil if the command itself is not known
	Text    string
}

func (e *UsageError) Error() string { return e.Text }

// Usage returns the line that states how the command is used.
func (e *UsageError) Usage() string {
	if e.Command == nil {
		return "`streamer --help` lists the commands"
	}
	return fmt.Sprintf("usage: streamer %s; `streamer %s --help` lists the flags", e.Command.Summary(), e.Command.Path())
}

// Invocation is a command line that was parsed.
type Invocation struct {
	*kong.Context
	sources *sources
}

// Misused returns an error about the arguments.
func (i *Invocation) Misused(format string, args ...any) error {
	return &UsageError{Command: i.Selected(), Text: fmt.Sprintf(format, args...)}
}

// Given reports whether a flag has a value that is not its default.
func (i *Invocation) Given(name string) bool { return i.source(name) != defaultValue }

// OnLine reports whether a flag is on the command line.
func (i *Invocation) OnLine(name string) bool { return i.source(name) == commandLine }

func (i *Invocation) source(name string) string {
	for _, f := range i.Flags() {
		if f.Name == name {
			return i.sourceOf(f)
		}
	}
	return defaultValue
}

func (i *Invocation) sourceOf(f *kong.Flag) string {
	for _, p := range i.Path {
		if p.Flag == f && !p.Resolved {
			return commandLine
		}
	}
	return cmp.Or(i.sources.from[f.Value], defaultValue)
}

// Flags returns the flags of the selected command and of its parents.
func (i *Invocation) Flags() (list []*kong.Flag) {
	for _, group := range i.Selected().AllFlags(true) {
		list = append(list, group...)
	}
	return list
}

// negative returns a flag with a number below 0, or nil. Only flags with the tag
// negative accept one.
func (i *Invocation) negative() *kong.Flag {
	for _, f := range i.Flags() {
		switch f.Target.Interface().(type) {
		case time.Duration, int, int64:
			if f.Target.Int() < 0 && !f.Tag.Has("negative") {
				return f
			}
		}
	}
	return nil
}

// Words returns the words that a flag or an argument accepts; none if it accepts
// others.
func Words(v *kong.Value) (words []string) {
	if v.Enum == "" {
		if v.Target.Kind() == reflect.Bool {
			return []string{"true", "false"}
		}
		return nil
	}
	for _, w := range v.EnumSlice() {
		if strings.TrimSpace(w) != "" {
			words = append(words, w)
		}
	}
	return words
}
