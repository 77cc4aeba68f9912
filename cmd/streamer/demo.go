package main

import (
	"context"
	"flag"
	"fmt"

	"streamer/internal/demo"
)

// demoTools is the result timeout of the tools that return no result.
const demoTools = "slow_*=6s"

const demoHelp = `Usage: streamer demo [flags]

Runs what serve runs, on an embedded NATS server, and plays five recorded
sessions. Open the page whose address it prints. The sessions show:

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
	once := fs.Bool("once", false, "end when everything is played and every call is closed")
	speed := speedFlag(fs, 1, "; deadlines stay the same (default 1)")
	if err := parseNoArgs(std, fs, args); err != nil {
		return err
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
	return demo.Run(ctx, std.out, s, demo.Options{Speed: *speed, Once: *once})
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
