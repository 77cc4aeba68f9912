// Package cli reads command lines with kong. The value of a flag comes from the
// command line, else from the environment, else from the configuration file, else
// from its default. The package records which of them it was.
//
// A flag in a group means the same in every command that has it: its variable is
// STREAMER_FLAG, and its key stands at the top of the configuration file. Any other
// flag belongs to its command: its variable is STREAMER_COMMAND_FLAG, and its key
// stands in the section of the command.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
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

// Elsewhere returns the variable, or the line of the configuration file, that sets a flag; ""
// if the command line sets it, or it is empty.
func (i *Invocation) Elsewhere(name string) string {
	for _, f := range i.Flags() {
		if s := i.sourceOf(f); f.Name == name && !f.Target.IsZero() && s != commandLine && s != defaultValue {
			return s
		}
	}
	return ""
}

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
func (i *Invocation) Flags() []*kong.Flag { return slices.Concat(i.Selected().AllFlags(true)...) }

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

// setWords sets the words that flags with the tag words accept, and puts them in the
// place of WORDS in their help. The command checks the words of a flag whose tag ends
// with ",open". Variables of kong would do the same, but each is expanded for each
// flag, which takes tens of milliseconds.
func setWords(n *kong.Node, words map[string][]string) {
	for _, f := range n.Flags {
		name, open := strings.CutSuffix(f.Tag.Get("words"), ",open")
		list := words[name]
		if len(list) == 0 {
			continue
		}
		f.Help = strings.Replace(f.Help, "WORDS", or(list), 1)
		if !open {
			f.Enum = "," + strings.Join(list, ",") // "" is a flag without a value
		}
	}
	for _, c := range n.Children {
		setWords(c, words)
	}
}

// Texts returns words of any type of text as strings.
func Texts[S ~string](words []S) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

// or returns the words as a list: "a, b or c".
func or(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
