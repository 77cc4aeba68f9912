package main

import (
	"io"
	"os"
	"slices"

	"streamer/internal/cli"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/patch"
	"streamer/internal/server"

	"github.com/alecthomas/kong"
)

type grammar struct {
	ConfigFile string `name:"config" placeholder:"FILE" help:"YAML or JSON file with the values of flags; see docs/cli.md"`

	Demo       demoCommand       `cmd:"" group:"run" set:"args_timeout=8s" set:"result_timeout=20s" set:"run_idle=10s" set:"log_level=warn" help:"Run a server and play recorded sessions on it."` //nolint:staticcheck // SA5008: kong reads each of the tags set
	Serve      serveCommand      `cmd:"" group:"run" help:"Run worker and gateway, on an embedded NATS server or on a cluster."`
	Tap        tapCommand        `cmd:"" group:"run" set:"log_level=error" help:"Run an agent and show its tool calls."`
	Replay     replayCommand     `cmd:"" group:"use" help:"Publish a recorded stream to a session."`
	Resume     resumeCommand     `cmd:"" group:"use" help:"Lift what interrupts of a session stopped."`
	Interrupt  interruptCommand  `cmd:"" group:"use" help:"Close the open calls of a session and print them."`
	Repair     repairCommand     `cmd:"" group:"use" help:"Add the missing tool results to a history and put every result in its place."`
	Assemble   assembleCommand   `cmd:"" group:"use" help:"Fold a recorded stream offline and print its calls."`
	Tail       tailCommand       `cmd:"" group:"look" help:"Follow calls as they happen."`
	Sessions   sessionsCommand   `cmd:"" group:"look" help:"Print the sessions that have events, newest first."`
	Calls      callsCommand      `cmd:"" group:"look" help:"Print the calls of a session."`
	Events     eventsCommand     `cmd:"" group:"look" help:"Print the stored events of a session."`
	Export     exportCommand     `cmd:"" group:"look" help:"Write the stored events of a session to a file that the page opens."`
	Sinks      sinksCommand      `cmd:"" group:"look" help:"Print the sinks, and the events that one of them could not deliver."`
	Doctor     doctorCommand     `cmd:"" group:"operate" help:"Check the server, the streams, the workers, the clock and the disk, and print how to fix what is wrong."`
	Verify     verifyCommand     `cmd:"" group:"operate" help:"Fold the input log again and compare the result with the event log."`
	Recover    recoverCommand    `cmd:"" group:"operate" help:"Repair an input log that lost its end, and close the calls and runs that lost inputs left open."`
	Backup     backupCommand     `cmd:"" group:"operate" help:"Copy the streams to a directory while they are in use."`
	Archive    archiveCommand    `cmd:"" group:"operate" help:"Copy the events of finished sessions to a directory or to S3, before they expire."`
	Restore    restoreCommand    `cmd:"" group:"operate" help:"Create the streams from a backup."`
	Pause      pauseCommand      `cmd:"" group:"operate" help:"Refuse new sessions and wait until no call is open."`
	Forget     forgetCommand     `cmd:"" group:"operate" help:"Delete all that is stored of a session."`
	Bench      benchCommand      `cmd:"" group:"operate" help:"Measure the whole path, or event streams."`
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
		{Key: "look", Title: "Look:"},
		{Key: "operate", Title: "Operation:"},
		{Key: "nats", Title: "NATS:"},
		{Key: "streams", Title: "Streams and embedded server:"},
		{Key: "http", Title: "HTTP and repair service:"},
		{Key: "tap", Title: "Tap:"},
		{Key: "sink", Title: "Sink:"},
		{Key: "rules", Title: "Settings of calls and runs:"},
		{Key: "worker", Title: "Worker:"},
		{Key: "log", Title: "Log, metrics and traces:"},
	}
}

// newParser returns the parser of the command line. It writes help to out.
func newParser(out io.Writer) (*cli.Parser, error) {
	words := map[string][]string{
		"formats":    decode.Names(),
		"repairable": cli.Texts(patch.Repairable()),
		"providers":  patch.Providers()[1:],
		"profiles":   patch.Profiles(),
		"events":     eventTypes(),
	}
	return cli.New(&grammar{}, cli.Options{
		Name: "streamer", Description: description, Groups: groups(), Vars: server.Defaults(), Words: words, Env: os.LookupEnv, Out: out,
	})
}

// eventTypes returns the types of the events that commands print.
func eventTypes() []string {
	return cli.Texts(slices.DeleteFunc(events.Types(), func(t events.Type) bool { return t == events.Synthetic }))
}
