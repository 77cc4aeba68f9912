// Command streamer follows the tool calls in LLM streams: it reads stream
// deltas from NATS, publishes what happens to each call, serves it to browsers,
// and closes the calls nobody answers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"streamer/internal/events"
)

// stdio is what a command reads and writes besides files and the network.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// command is one subcommand: one file, one line in commands.
type command struct {
	name, args, what string
	run              func(ctx context.Context, io stdio, args []string) error
}

func commands() []command {
	return []command{
		{"demo", "[flags]", "serve, and play recorded sessions at the speed models stream", demo},
		{"serve", "[flags]", "run worker and gateway, on an embedded NATS server or on a cluster", serve},
		{"replay", "[flags] FILE", "publish a recorded stream to a session", replay},
		{"interrupt", "[flags] SESSION", "close the open calls of a session, and print which", interrupt},
		{"repair", "[flags] [FILE]", "answer the calls of a history that nobody answered, and put every result in its place", runRepair},
		{"assemble", "[flags] [FILE]", "fold a recorded stream offline and print its calls", assemble},
		{"verify", "[flags] [SESSION ...]", "fold the input log again and compare the result with the event log", verify},
		{"bench", "[flags]", "measure speed, latency, memory and recovery, beside what the server alone does", bench},
		{"recover", "[flags]", "close the calls and runs that lost inputs left open", runRecover},
		{"version", "", "print the version", version},
	}
}

// exit is an error that says how the process ends; what there was to say has
// been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// The exit statuses.
const (
	exitFailed = 1
	exitUsage  = 2
	exitInput  = 3 // parts of the input were unusable, or named what is not open
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go paceGC(ctx, boundMemory(os.DirFS("/")))
	os.Exit(run(ctx, stdio{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run runs the command that args name and gives the exit status.
func run(ctx context.Context, io stdio, args []string) int {
	if len(args) == 0 {
		usage(io.err)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) == 1 {
			usage(io.out)
			return 0
		}
		args = []string{args[1], "--help"}
	case "-version", "--version":
		args[0] = "version"
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return status(io, c, c.run(ctx, io, args[1:]))
		}
	}
	fmt.Fprintf(io.err, "streamer: there is no command %q; `streamer help` lists them\n", args[0])
	return exitUsage
}

func status(io stdio, c command, err error) int {
	var code exit
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(io.err, "streamer %s: %v\n", c.name, err)
	return exitFailed
}

func usage(w io.Writer) {
	fmt.Fprint(w, "streamer follows the tool calls in LLM streams.\n\nUsage:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  streamer %-28s %s\n", c.name+" "+c.args, c.what)
	}
	fmt.Fprint(w, "\nThe exit status is 0; 1 where a command failed; 2 where its arguments are wrong; 3 where parts of\n"+
		"its input could not be used, or named a call that is not open. That of repair is in its help.\n")
	fmt.Fprint(w, "\n`streamer COMMAND --help` gives the flags of a command.\n")
}

// flags makes the flag set of a command, whose help says what it is for.
func flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		for _, c := range commands() {
			if c.name == name {
				fmt.Fprintf(fs.Output(), "Usage: streamer %s %s\n\n%s%s.\n", c.name, c.args, strings.ToUpper(c.what[:1]), c.what[1:])
			}
		}
		var any bool
		fs.VisitAll(func(*flag.Flag) { any = true })
		if any {
			fmt.Fprint(fs.Output(), "\nFlags:\n\n")
			fs.PrintDefaults()
		}
	}
	return fs
}

// parse reads flags wherever they stand among the arguments and gives the
// arguments.
func parse(std stdio, fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	// Of itself the flag set would print all flags after each error, and the
	// error would have scrolled away.
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
			if name := negative(fs); name != "" {
				return nil, misused(std, fs, "--%s is below 0", name)
			}
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// wanted adds to a value that its flag does not take what it takes, where the
// flag package says no more than "parse error".
func wanted(fs *flag.FlagSet, err error) error {
	fs.VisitAll(func(f *flag.Flag) {
		if !strings.HasSuffix(err.Error(), " for flag -"+f.Name+": parse error") {
			return
		}
		switch value(f).(type) {
		case time.Duration:
			err = fmt.Errorf("%w: a duration has units, such as 500ms, 90s, 10m or 12h", err)
		case int, int64:
			err = fmt.Errorf("%w: it is a whole number", err)
		}
	})
	return err
}

// negative names a flag that was given a number below 0, or "": none has a use
// for one.
func negative(fs *flag.FlagSet) (name string) {
	fs.Visit(func(f *flag.Flag) {
		switch v := value(f).(type) {
		case time.Duration:
			if v < 0 {
				name = f.Name
			}
		case int:
			if v < 0 {
				name = f.Name
			}
		case int64:
			if v < 0 {
				name = f.Name
			}
		}
	})
	return name
}

// value gives the value of a flag, nil where it has none of its own.
func value(f *flag.Flag) any {
	if g, ok := f.Value.(flag.Getter); ok {
		return g.Get()
	}
	return nil
}

// tokenOf gives the token of a session that an argument names.
func tokenOf(std stdio, fs *flag.FlagSet, session string) (string, error) {
	token, err := events.Token(session)
	if err != nil {
		return "", misused(std, fs, "session: %s", strings.TrimPrefix(err.Error(), "events: "))
	}
	return token, nil
}

// misused says on standard error what is wrong with the arguments, and how the
// command is used.
func misused(std stdio, fs *flag.FlagSet, format string, args ...any) error {
	fmt.Fprintf(std.err, "streamer %s: %s\n", fs.Name(), fmt.Sprintf(format, args...))
	for _, c := range commands() {
		if c.name == fs.Name() {
			fmt.Fprintf(std.err, "usage: streamer %s %s; `streamer %s --help` gives the flags\n", c.name, c.args, c.name)
		}
	}
	return exit(exitUsage)
}
