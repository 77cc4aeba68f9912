package main

import (
	"fmt"
	"io"
	"strings"

	"streamer/internal/cli"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish"`
}

func (*completionCommand) Help() string {
	return `Examples:

  source <(streamer completion bash)                  # in ~/.bashrc
  source <(streamer completion zsh)                   # in ~/.zshrc, after compinit
  streamer completion fish > ~/.config/fish/completions/streamer.fish`
}

func (c *completionCommand) Run(std stdio) error {
	script, err := cli.Script(c.Shell, "streamer")
	if err == nil {
		_, err = io.WriteString(std.out, script)
	}
	return err
}

type completeCommand struct {
	Words []string `arg:"" optional:""`
}

func (c *completeCommand) Run(std stdio, p *cli.Parser) error {
	_, err := fmt.Fprintln(std.out, strings.Join(p.Complete(c.Words), "\n"))
	return err
}
