package main

import (
	"cmp"
	"context"
	"fmt"

	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/patch"
)

// The exit statuses of repair besides 0.
const (
	exitWouldChange = 1 // of --check
	exitNoRepair    = 2 // standard output is empty
)

type repairCommand struct {
	File string `arg:"" optional:"" help:"history; standard input if absent or -"`
	client.NATSFlags
	Options  string      `placeholder:"JSON" help:"options as JSON or @FILE, which docs/repair.md lists; explicit flags take precedence"`
	Format   patch.Shape `placeholder:"FORMAT" words:"repairable" help:"format of the history: WORDS; if empty, it is recognised"`
	Late     string      `placeholder:"TREATMENT" help:"treatment of a result behind a later turn: auto, replace, note or drop; note suits a history that was sent before"`
	Provider string      `placeholder:"PROVIDER" words:"providers,open" help:"provider whose rules of ids and order apply: WORDS"`
	Profile  string      `placeholder:"SYSTEM" words:"profiles,open" help:"system whose repair is reproduced exactly: WORDS"`
	Lang     string      `placeholder:"LANGUAGE" help:"language of the texts: en or zh"`
	Output   string      `placeholder:"KIND" help:"output: full (the history), ops (the edits that lead to it) or check (the report)"`
	Check    bool        `help:"print the report; exit status 1 if a repair would change the history"`
	MaxBytes int         `placeholder:"BYTES" help:"maximum size of the history; if 0, 64 MiB"`
	Session  string      `placeholder:"SESSION" help:"session whose event log is searched first for results, and for the reasons of missing ones"`
	Report   string      `placeholder:"FILE" help:"file to write the report to, - for standard error"`
}

func (*repairCommand) Help() string {
	return `Examples:

  streamer repair history.json > repaired.json
  streamer repair --check history.json
  streamer repair --session chat-42 --provider anthropic --report - < history.json`
}

func (c *repairCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	r := client.Repair{Broker: c.NATSFlags.Options(), Options: c.Options, MaxBytes: c.MaxBytes}
	r.Request.Format, r.Request.Session = c.Format, c.Session
	r.Override = patch.Options{Late: c.Late, Provider: c.Provider, Profile: c.Profile, Lang: c.Lang, Output: c.Output}
	if c.Check {
		r.Override.Output = "check"
	}
	if c.Session == "" {
		if err := client.CheckNoSession(i); err != nil {
			return err
		}
	}
	if err := r.ParseOptions(); err != nil {
		return i.Misused("%v", err)
	}
	done, err := r.Run(ctx, std.in, cmp.Or(c.File, "-"), std.err)
	if err == nil {
		err = r.Write(std.out, std.err, done, c.Report)
	}
	if err != nil {
		fmt.Fprintf(std.err, "streamer repair: %v\n", err)
		return exit(exitNoRepair)
	}
	if r.Request.Options.Output == "check" && done.Report.Patched {
		return exit(exitWouldChange)
	}
	return nil
}
