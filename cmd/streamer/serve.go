package main

import (
	"context"
	"os"

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
	s, err := openServer(ctx, std, &c.Flags, i)
	if err == nil {
		defer s.Close()
		err = s.Serve(ctx, std.out, c.LogFormat)
	}
	return c.LogFailure(ctx, std.err, err)
}

func openServer(ctx context.Context, std stdio, f *server.Flags, i *cli.Invocation) (*server.Server, error) {
	log, logs, err := f.Logger(ctx, std.err)
	if err != nil {
		return nil, err
	}
	for _, v := range i.UnknownVariables(os.Environ()) {
		if v.Meant != "" {
			log.Warn().Msgf("the variable %s belongs to no flag%s", v.Name, v.Question())
		}
	}
	config := f.Config(i.Given)
	config.Logs = logs
	s, err := server.Open(ctx, config, log)
	if err == nil && f.QueryService {
		s.Services = append(s.Services, inspect.Service(s))
	}
	return s, err
}
