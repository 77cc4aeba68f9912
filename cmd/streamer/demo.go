package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"streamer/internal/demo"
)

// demoTools is the result timeout of the tools that return no result.
const demoTools = "slow_*=6s"

const demoHelp = `Usage: streamer demo [flags]

Runs what serve runs, on an embedded NATS server, and plays six recorded
sessions. They begin when one of the pages whose addresses it prints is open, or
with Enter. The sessions show:

` + demo.Contents + `
Each start plays into new sessions. Deadlines are short, so that all of them pass
within the demo. Without --tool-timeout it is ` + demoTools + `.

Flags:

`

// demoDefaults are the defaults of serve's flags for a demo.
var demoDefaults = [...]struct{ flag, value string }{
	{"args-timeout", "8s"},
	{"result-timeout", "20s"},
	{"run-idle", "10s"},
	{"log-level", "warn"},
}

func runDemo(ctx context.Context, std stdio, args []string) error {
	fs := flags("demo")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), demoHelp)
		fs.PrintDefaults()
	}
	f := newServeFlags(fs)
	for _, d := range demoDefaults {
		if err := preset(fs, d.flag, d.value); err != nil {
			return err
		}
	}
	once := fs.Bool("once", false, "begin without a viewer, and end when everything is played and every call is closed")
	loop := fs.Bool("loop", false, "play again, in the same sessions, as long as a page is open")
	speed := speedFlag(fs, 1, "; deadlines stay the same (default 1)")
	if err := parseNoArgs(std, fs, args); err != nil {
		return err
	}
	if *once && *loop {
		return errors.New("--once and --loop exclude each other")
	}
	if len(f.tools) == 0 {
		if err := f.addTool(demoTools); err != nil {
			return err
		}
	}
	s, err := f.open(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	return demo.Run(ctx, std.out, s, demo.Options{Speed: *speed, Once: *once, Loop: *loop, Key: enter(std.in)})
}

// enter returns a channel that is closed when a line is read from a terminal. It
// returns nil if in is no terminal.
func enter(in io.Reader) <-chan struct{} {
	f, ok := in.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	key := make(chan struct{})
	go func() { // until the process ends: a read of a terminal cannot be stopped
		if _, err := bufio.NewReader(f).ReadString('\n'); err == nil {
			close(key)
		}
	}()
	return key
}

// preset sets another default for a flag.
func preset(fs *flag.FlagSet, name, value string) error {
	f := fs.Lookup(name)
	if err := f.Value.Set(value); err != nil {
		return fmt.Errorf("default of --%s: %w", name, err)
	}
	f.DefValue = value
	return nil
}
