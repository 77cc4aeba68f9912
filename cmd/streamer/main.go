// Command streamer follows the tool calls in LLM streams: it reads stream deltas
// from NATS, publishes the events of each call, serves them to browsers, and
// closes the calls that get no result.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"streamer/internal/cli"
	"streamer/internal/server"
)

type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// exit is an error that sets the exit status and prints nothing.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// The exit statuses.
const (
	exitFailed = 1
	exitUsage  = 2
	exitInput  = 3 // a part of the input was unusable, or named a call that is not open
)

const exitStatuses = `Exit status:

  0  success
  1  the command failed, or it found what it looks for: verify a fault, recover a loss that it
     was not asked to close, repair --check a history that needs a repair
  2  the arguments, a variable or the configuration file cannot be parsed, or a file that they
     name does not exist; also a history that repair could not repair
  3  a part of the input was unusable (assemble, replay), or named a call that is not open
     (interrupt)`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server.BoundMemory(os.DirFS("/"))
	go server.PaceGC(ctx) // until the process ends
	os.Exit(run(ctx, stdio{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

func run(ctx context.Context, std stdio, args []string) int {
	help := std.out
	if len(args) == 0 {
		help = std.err
	}
	p, err := newParser(help)
	if err != nil {
		fmt.Fprintf(std.err, "streamer: %v\n", err)
		return exitFailed
	}
	i, err := p.Parse(aliases(args))
	if err == nil {
		err = oneServer(i)
	}
	switch {
	case len(args) == 0:
		return exitUsage
	case err == nil:
		i.Bind(std, i, p)
		i.BindTo(ctx, (*context.Context)(nil))
		err = i.Run()
		return status(std, "streamer "+i.Selected().Path(), err)
	}
	return status(std, "streamer", err)
}

// oneServer refuses a data directory on the command line where a variable or the
// configuration file names a server: the command would use that one.
func oneServer(i *cli.Invocation) error {
	if at := i.Elsewhere("nats-url"); at != "" && i.OnLine("data-dir") {
		return i.Misused("--data-dir names the embedded server, and %s another: leave out one of them", at)
	}
	return nil
}

// aliases replaces other spellings of a command.
func aliases(args []string) []string {
	if len(args) == 0 {
		return []string{"--help"}
	}
	switch args[0] {
	case "help":
		return append(args[1:min(2, len(args))], "--help")
	case "-help":
		return []string{"--help"}
	case "-version", "--version":
		return []string{"version"}
	}
	return args
}

// status returns the exit status for the error of a command, and prints the
// error.
func status(std stdio, name string, err error) int {
	code, isExit := errors.AsType[exit](err)
	wrong, isUsage := errors.AsType[*cli.UsageError](err)
	paint := cli.NewPaint(std.err)
	switch {
	case err == nil, errors.Is(err, cli.ErrHelp):
		return 0
	case isExit:
		return int(code)
	case isUsage:
		if wrong.Command != nil {
			name = "streamer " + wrong.Command.Path()
		}
		fmt.Fprintf(std.err, "%s: %s\n%s\n", name, paint.Text(cli.Red, wrong.Text), wrong.Usage())
		return exitUsage
	}
	if _, logged := errors.AsType[server.Logged](err); !logged {
		fmt.Fprintf(std.err, "%s: %s\n", name, paint.Text(cli.Red, err.Error()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return exitUsage
	}
	return exitFailed
}
