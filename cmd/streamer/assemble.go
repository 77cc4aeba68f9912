package main

import (
	"streamer/internal/app"
)

type assembleCommand struct {
	File   string `arg:"" optional:"" placeholder:"FILE" help:"recorded stream; standard input if absent or -"`
	Events bool   `help:"print the events instead of the calls"`
	formatFlag
}

// Help returns the examples.
func (*assembleCommand) Help() string {
	return `Example:

  streamer assemble --format anthropic response.sse`
}

// Run folds the file and prints its calls.
func (c *assembleCommand) Run(std stdio) error {
	in, err := app.OpenInput(std.in, c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	a, failed := app.Assemble(in, c.Format) // the lines before a failure are printed
	if c.Events {
		err = app.WriteEvents(std.out, a.Events)
	} else {
		err = app.WriteCalls(std.out, a.Calls())
	}
	if err != nil {
		return err
	}
	if rejected := app.Rejected(a.Events); rejected.Count > 0 {
		app.PrintRejections(std.err, rejected, "streamer assemble: ")
		err = exit(exitInput)
	}
	if failed != nil {
		return failed
	}
	return err
}
