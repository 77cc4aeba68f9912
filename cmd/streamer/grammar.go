package main

import (
	"io"
	"maps"
	"os"
	"strings"

	"streamer/internal/app"
	"streamer/internal/cli"
	"streamer/internal/decode"
	"streamer/internal/patch"

	"github.com/alecthomas/kong"
)

// grammar has a field for each command.
type grammar struct {
	ConfigFile string `name:"config" placeholder:"FILE" help:"YAML or JSON file with the values of flags; see docs/cli.md"`

	Demo       demoCommand       `cmd:"" group:"run" set:"args_timeout=8s" set:"result_timeout=20s" set:"run_idle=10s" set:"log_level=warn" help:"Run a server and play recorded sessions on it."`
	Serve      serveCommand      `cmd:"" group:"run" help:"Run worker and gateway, on an embedded NATS server or on a cluster."`
	Replay     replayCommand     `cmd:"" group:"use" help:"Publish a recorded stream to a session."`
	Interrupt  interruptCommand  `cmd:"" group:"use" help:"Close the open calls of a session and print them."`
	Repair     repairCommand     `cmd:"" group:"use" help:"Add the missing tool results to a history and put every result in its place."`
	Assemble   assembleCommand   `cmd:"" group:"use" help:"Fold a recorded stream offline and print its calls."`
	Verify     verifyCommand     `cmd:"" group:"operate" help:"Fold the input log again and compare the result with the event log."`
	Recover    recoverCommand    `cmd:"" group:"operate" help:"Close the calls and runs that lost inputs left open."`
	Bench      benchCommand      `cmd:"" group:"operate" help:"Measure the whole path beside the same work on NATS alone, or event streams."`
	Ready      readyCommand      `cmd:"" group:"operate" help:"Ask a running server whether it is ready."`
	Config     configCommand     `cmd:"" group:"operate" help:"Print the configuration that serve would use, and where each value comes from."`
	Completion completionCommand `cmd:"" group:"operate" help:"Print a script that completes commands and flags in a shell."`
	Version    versionCommand    `cmd:"" group:"operate" help:"Print the version."`

	Complete completeCommand `cmd:"" hidden:"" help:"Print the words that complete a command line."`
}

const description = "streamer follows the tool calls in LLM streams.\n\n" + exitStatuses

func groups() []kong.Group {
	return []kong.Group{
		{Key: "run", Title: "Run a server:"},
		{Key: "use", Title: "Streams, sessions and histories:"},
		{Key: "operate", Title: "Operation:"},
		{Key: "nats", Title: "NATS:"},
		{Key: "streams", Title: "Streams and embedded server:"},
		{Key: "http", Title: "HTTP and repair service:"},
		{Key: "rules", Title: "Settings of calls and runs:"},
		{Key: "worker", Title: "Worker:"},
		{Key: "log", Title: "Log, metrics and traces:"},
	}
}

// newParser returns the parser of the command line. It writes help to out.
func newParser(out io.Writer) (*cli.Parser, error) {
	vars := kong.Vars{
		"formats":    "," + strings.Join(decode.Names(), ","),
		"repairable": "," + join(patch.Repairable()),
		"providers":  alternatives(patch.Providers()[1:]),
		"profiles":   alternatives(patch.Profiles()),
		"format_or":  alternatives(decode.Names()),
		"shape_or":   alternatives(patch.Repairable()),
	}
	maps.Copy(vars, app.Defaults())
	return cli.New(&grammar{}, cli.Options{
		Name: "streamer", Description: description, Groups: groups(), Vars: vars, Env: os.LookupEnv, Out: out,
	})
}

func join[S ~string](words []S) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, ",")
}

// alternatives returns the words as a list: "a, b or c".
func alternatives[S ~string](words []S) string {
	list := strings.Split(join(words), ",")
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
