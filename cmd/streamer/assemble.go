package main

import (
	"streamer/internal/client"
)

type assembleCommand struct {
	File   string `arg:"" optional:"" placeholder:"FILE" help:"recorded stream; standard input if absent or -"`
	Events bool   `help:"print the events instead of the calls"`
	formatFlag
}

func (*assembleCommand) Help() string {
	return `Example:

  streamer assemble --format anthropic response.sse`
}

func (c *assembleCommand) Run(std stdio) error {
	in, err := client.OpenInput(std.in, c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	a, failed := client.Assemble(in, c.Format) // the lines before a failure are printed
	if c.Events {
		err = client.WriteEvents(std.out, a.Events)
	} else {
		err = client.WriteCalls(std.out, a.Calls())
	}
	if err != nil {
		return err
	}
	if rejected := client.Rejections(a.Events); rejected.Count > 0 {
		client.PrintRejections(std.err, rejected, "streamer assemble: ")
		err = exit(exitInput)
	}
	if failed != nil {
		return failed
	}
	return err
}
