package main

import (
	"context"
	"sync"

	"streamer/internal/cli"
	"streamer/internal/inspect"
	"streamer/internal/server"
)

type serveCommand struct {
	server.Flags
}

func (*serveCommand) Help() string {
	return `Examples:

  streamer serve
  streamer serve --nats-url nats://nats-1:4222,nats://nats-2:4222 --nats-creds streamer.creds --replicas 3
  streamer serve --config /etc/streamer.yaml

Each flag can also be set by a variable (STREAMER_HTTP_LISTEN for --http-listen) and in the file of --config; streamer config prints the values in force.`
}

func (c *serveCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	err := c.serve(ctx, std, i)
	if err == nil || c.LogFormat != "json" {
		return err
	}
	log, _ := server.Logger(std.err, c.LogLevel, c.LogFormat)
	log.Error().Err(err).Msg("streamer serve ended")
	return exit(statusOf(err))
}

func (c *serveCommand) serve(ctx context.Context, std stdio, i *cli.Invocation) error {
	s, err := openServer(ctx, std, &c.Flags, i)
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
			s.WriteAddresses(std.out, c.LogFormat)
		case <-ctx.Done():
		}
	})
	return s.Run(ctx)
}

func openServer(ctx context.Context, std stdio, f *server.Flags, i *cli.Invocation) (*server.Server, error) {
	log, err := server.Logger(std.err, f.LogLevel, f.LogFormat)
	if err != nil {
		return nil, err
	}
	s, err := server.Open(ctx, f.Config(i.Given), log)
	if err == nil && f.QueryService {
		s.Services = append(s.Services, inspect.Service(s))
	}
	return s, err
}
