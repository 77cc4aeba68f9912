package main

import (
	"io"

	"streamer/internal/client"
)

type versionCommand struct{}

func (*versionCommand) Run(std stdio) error {
	_, err := io.WriteString(std.out, client.Build())
	return err
}
