package main

import (
	"io"

	"streamer/internal/app"
)

type versionCommand struct{}

// Run prints the version.
func (*versionCommand) Run(std stdio) error {
	_, err := io.WriteString(std.out, app.ReadBuild().String())
	return err
}
