// Command streamer follows the tool calls in LLM streams: it reads stream deltas
// from NATS, publishes the events of each call, serves them to browsers, and
// closes the calls that get no result.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"streamer/internal/app"
)

// stdio is the standard input and output of a command.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// command is one subcommand: one file, and one line in commands.
type command struct {
	name, args, what string
	run              func(ctx context.Context, std stdio, args []string) error
}

func commands() []command {
	return []command{
		{"demo", "[flags]", "run a server and play recorded sessions on it", runDemo},
		{"serve", "[flags]", "run worker and gateway, on an embedded NATS server or on a cluster", runServe},
		{"replay", "[flags] FILE", "publish a recorded stream to a session", runReplay},
		{"interrupt", "[flags] SESSION", "close the open calls of a session and print them", runInterrupt},
		{"repair", "[flags] [FILE]", "add the missing tool results to a history and put every result in its place", runRepair},
		{"assemble", "[flags] [FILE]", "fold a recorded stream offline and print its calls", runAssemble},
		{"verify", "[flags] [SESSION ...]", "fold the input log again and compare the result with the event log", runVerify},
		{"bench", "[flags]", "measure throughput, latency, memory and recovery beside the same work on NATS alone", runBench},
		{"recover", "[flags]", "close the calls and runs that lost inputs left open", runRecover},
		{"version", "", "print the version", runVersion},
	}
}

// find returns a command. It returns the zero command if there is none of that
// name.
func find(name string) command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return command{}
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go app.PaceGC(ctx, app.BoundMemory(os.DirFS("/"))) // until the process ends
	os.Exit(run(ctx, stdio{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run runs the command that args name and returns the exit status.
func run(ctx context.Context, std stdio, args []string) int {
	if len(args) == 0 {
		usage(std.err)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) == 1 {
			usage(std.out)
			return 0
		}
		args = []string{args[1], "--help"}
	case "-version", "--version":
		args[0] = "version"
	}
	c := find(args[0])
	if c.run == nil {
		fmt.Fprintf(std.err, "streamer: unknown command %q; `streamer help` lists the commands\n", args[0])
		return exitUsage
	}
	return status(std, c, c.run(ctx, std, args[1:]))
}

// status returns the exit status for the error of a command, and prints the
// error.
func status(std stdio, c command, err error) int {
	var code exit
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(std.err, "streamer %s: %v\n", c.name, err)
	return exitFailed
}

func usage(w io.Writer) {
	fmt.Fprint(w, "streamer follows the tool calls in LLM streams.\n\nUsage:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  streamer %-28s %s\n", c.name+" "+c.args, c.what)
	}
	fmt.Fprint(w, `
Exit status: 0 on success; 1 if a command failed; 2 if its arguments are invalid;
3 if a part of its input was unusable or named a call that is not open. repair
exits with 1 if --check finds something to repair and with 2 if it failed.

`+"`streamer COMMAND --help` lists the flags of a command.\n")
}

func runVersion(_ context.Context, std stdio, _ []string) error {
	_, err := fmt.Fprintf(std.out, "streamer %s\n", app.Version())
	return err
}
