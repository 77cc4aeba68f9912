package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"streamer/internal/app"
)

func runServe(ctx context.Context, std stdio, args []string) error {
	fs := flags("serve")
	f := newServeFlags(fs)
	if err := parseNoArgs(std, fs, args); err != nil {
		return err
	}
	s, err := f.open(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	wg.Go(func() {
		select {
		case <-s.Opened():
			printAddresses(std.out, s, f.config.Broker.DataDir)
		case <-ctx.Done():
		}
	})
	return s.Run(ctx)
}

func printAddresses(w io.Writer, s *app.Server, dataDir string) {
	fmt.Fprintf(w, "page      %s\nnats      %s\n", s.Page(), s.Broker.URL())
	if s.Embedded() {
		fmt.Fprintf(w, "data      %s\n", dataDir)
	}
	fmt.Fprint(w, "publish   llm.<session>.delta\nsubscribe toolcalls.>\n")
}
