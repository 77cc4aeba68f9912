package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"streamer/internal/decode"
	"streamer/internal/events"
)

// flags returns the flag set of a command. Its help begins with the usage and
// the summary of the command.
func flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		c := find(name)
		fmt.Fprintf(fs.Output(), "Usage: streamer %s %s\n\n%s%s.\n\nFlags:\n\n", c.name, c.args, strings.ToUpper(c.what[:1]), c.what[1:])
		fs.PrintDefaults()
	}
	return fs
}

// parse parses flags anywhere among the arguments and returns the other
// arguments.
func parse(std stdio, fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	// The flag set would print all flags after each error.
	fs.SetOutput(io.Discard)
	for {
		switch err := fs.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fs.SetOutput(std.out)
			fs.Usage()
			return nil, err
		case err != nil:
			return nil, misused(std, fs, "%v", wanted(fs, err))
		}
		args = fs.Args()
		if len(args) == 0 {
			if f := negative(fs); f != nil {
				return nil, misused(std, fs, "invalid --%s %s: need at least 0", f.Name, f.Value)
			}
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// parseNoArgs parses the flags of a command without arguments.
func parseNoArgs(std stdio, fs *flag.FlagSet, args []string) error {
	rest, err := parse(std, fs, args)
	if err == nil && len(rest) > 0 {
		err = misused(std, fs, "unexpected argument %q: need flags only", rest[0])
	}
	return err
}

// wanted adds to an error about the value of a flag which values are valid,
// where the flag package states only "parse error".
func wanted(fs *flag.FlagSet, err error) error {
	fs.VisitAll(func(f *flag.Flag) {
		if !strings.HasSuffix(err.Error(), " for flag -"+f.Name+": parse error") {
			return
		}
		switch value(f).(type) {
		case time.Duration:
			err = fmt.Errorf("%w: need a duration with its unit, such as 500ms, 90s, 10m or 12h", err)
		case int, int64:
			err = fmt.Errorf("%w: need a whole number", err)
		}
	})
	return err
}

// negative returns a flag that was given a number below 0, or nil. No flag
// accepts one.
func negative(fs *flag.FlagSet) (found *flag.Flag) {
	fs.Visit(func(f *flag.Flag) {
		switch value(f).(type) {
		case time.Duration, int, int64:
			if strings.HasPrefix(f.Value.String(), "-") {
				found = f
			}
		}
	})
	return found
}

// value returns the value of a flag, nil if its type has none.
func value(f *flag.Flag) any {
	if g, ok := f.Value.(flag.Getter); ok {
		return g.Get()
	}
	return nil
}

// misused prints what is wrong with the arguments, and the usage of the command.
func misused(std stdio, fs *flag.FlagSet, format string, args ...any) error {
	c := find(fs.Name())
	fmt.Fprintf(std.err, "streamer %s: %s\n", c.name, fmt.Sprintf(format, args...))
	fmt.Fprintf(std.err, "usage: streamer %s %s; `streamer %s --help` lists the flags\n", c.name, c.args, c.name)
	return exit(exitUsage)
}

// tokenOf returns the token of a session that an argument names.
func tokenOf(std stdio, fs *flag.FlagSet, session string) (string, error) {
	token, err := events.Token(session)
	if err != nil {
		return "", misused(std, fs, "session: %s", strings.TrimPrefix(err.Error(), "events: "))
	}
	return token, nil
}

// choice is a flag whose value is one of some words.
type choice[S ~string] struct {
	to    *S
	words []S
}

func (c choice[S]) String() string {
	if c.to == nil {
		return ""
	}
	return string(*c.to)
}

// Set sets the value to one of the words.
func (c choice[S]) Set(s string) error {
	if !slices.Contains(c.words, S(s)) {
		return fmt.Errorf("need %s", alternatives(c.words))
	}
	*c.to = S(s)
	return nil
}

// alternatives returns the words as a list: "a, b or c".
func alternatives[S ~string](words []S) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// formatFlag registers a flag with the name of a stream format.
func formatFlag(fs *flag.FlagSet) *string {
	name := new(string)
	fs.Var(choice[string]{name, decode.Names()}, "format", "`format` of the stream: "+alternatives(decode.Names())+"; if empty, it is recognised")
	return name
}

// listFlag registers a flag that may be repeated.
func listFlag(fs *flag.FlagSet, to *[]string, name, usage string) {
	fs.Func(name, usage, func(s string) error {
		*to = append(*to, s)
		return nil
	})
}

// openInput opens the file that args name: standard input for - and for none.
func openInput(std stdio, args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.NopCloser(std.in), nil
	}
	return os.Open(args[0])
}

// speedFlag registers --speed and returns how many times faster than recorded it
// is, 0 without pauses.
func speedFlag(fs *flag.FlagSet, standard time.Duration, note string) *time.Duration {
	speed := standard
	fs.Func("speed", "`speed`: 1 (as recorded, or as models stream), 10 (times as fast) or max (without pauses)"+note, func(s string) error {
		var ok bool
		if speed, ok = map[string]time.Duration{"1": 1, "10": 10, "max": 0}[s]; !ok {
			return errors.New("need 1, 10 or max")
		}
		return nil
	})
	return &speed
}
