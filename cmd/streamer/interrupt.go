package main

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
)

func runInterrupt(ctx context.Context, std stdio, args []string) error {
	fs := flags("interrupt")
	var nats broker.Options
	natsFlags(fs, &nats)
	var i app.Interrupt
	listFlag(fs, &i.Calls, "call", "`ID` of a call to close, either the provider's or the call's own, such as 18.0; may be repeated; exit status 3 if one is not open; if empty, all open calls are closed")
	fs.StringVar(&i.Reason, "reason", "", "`text` of the reason")
	wait := fs.Duration("wait", 10*time.Second, "maximum time to wait for the events of the interrupt; if 0, it is only published")
	rest, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return misused(std, fs, "got %d sessions: need one SESSION", len(rest))
	}
	token, err := tokenOf(std, fs, rest[0])
	if err != nil {
		return err
	}
	if _, err := i.Body(); err != nil {
		return misused(std, fs, "invalid --call: %v", err)
	}
	b, err := app.Dial(ctx, nats)
	if err != nil {
		return err
	}
	defer b.Close()
	if *wait == 0 {
		seq, err := i.Publish(ctx, b, token)
		if err == nil {
			fmt.Fprintf(std.out, "interrupt published to session %s as input %d\n", rest[0], seq)
		}
		return err
	}
	o, err := i.Run(ctx, b, token, *wait)
	if err != nil {
		return err
	}
	o.Print(std.out, rest[0])
	for _, name := range o.Missing() {
		fmt.Fprintf(std.err, "streamer interrupt: session %s has no open call %s\n", rest[0], name)
		err = exit(exitInput)
	}
	return err
}
