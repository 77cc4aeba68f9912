package main

import (
	"context"
	"fmt"

	"streamer/internal/worker"
)

func verify(ctx context.Context, std stdio, args []string) error {
	fs := flags("verify")
	var n natsFlags
	n.register(fs)
	sessions, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	var tokens []string
	for _, s := range sessions {
		token, err := tokenOf(std, fs, s)
		if err != nil {
			return err
		}
		tokens = append(tokens, token)
	}
	b, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := worker.Verify(ctx, b, tokens...)
	if err != nil {
		return err
	}
	for _, d := range r.Differences {
		fmt.Fprintln(std.out, d)
	}
	fmt.Fprintf(std.out, "%d inputs folded again: %d sessions with %d events compared, %d differ", r.Inputs, r.Sessions, r.Events, len(r.Differences))
	if r.Older > 0 {
		fmt.Fprintf(std.out, "; %d sessions began before the input log does and were not compared", r.Older)
	}
	fmt.Fprintln(std.out)
	for _, token := range r.Unknown {
		fmt.Fprintf(std.out, "there is nothing of session %s\n", token)
	}
	if len(r.Differences) > 0 || len(r.Unknown) > 0 {
		return exit(exitFailed)
	}
	return nil
}
