package main

import (
	"context"

	"streamer/internal/app"
)

func runAssemble(_ context.Context, std stdio, args []string) error {
	fs := flags("assemble")
	format := formatFlag(fs)
	asEvents := fs.Bool("events", false, "print the events instead of the calls")
	files, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(files) > 1 {
		return misused(std, fs, "got %d files: need at most one FILE", len(files))
	}
	in, err := openInput(std, files)
	if err != nil {
		return err
	}
	defer in.Close()
	a, failed := app.Assemble(in, *format) // the lines before a failure are printed
	if *asEvents {
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
