package main

import (
	"context"

	"streamer/internal/client"
)

type readyCommand struct {
	HTTPListen string `name:"http-listen" group:"http" placeholder:"ADDRESS" default:"${http_listen}" help:"address of the server's HTTP API on this machine, without TLS"`
}

func (*readyCommand) Help() string {
	return `For health checks of containers: the exit status is 0 if the server is ready, and 1 with the reason if it is not, or if it does not answer within 4 s.`
}

func (c *readyCommand) Run(ctx context.Context) error { return client.Ready(ctx, c.HTTPListen) }
