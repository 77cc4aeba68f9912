package main

import (
	"fmt"
	"os"

	"streamer/internal/cli"
	"streamer/internal/server"
)

type configCommand struct {
	server.Flags
	JSON bool `name:"json" help:"print one JSON object"`
}

func (*configCommand) Help() string {
	return `A value comes from the command line, else from a variable, else from the file of --config, else it is the default. The output has the form of that file; passwords in it are masked.`
}

func (c *configCommand) Run(std stdio, i *cli.Invocation) error {
	for _, v := range i.UnknownVariables(os.Environ()) {
		fmt.Fprintf(std.err, "streamer config: the variable %s belongs to no flag%s\n", v.Name, v.Question())
	}
	if c.JSON {
		return i.WriteJSON(std.out)
	}
	return i.WriteSettings(std.out)
}
