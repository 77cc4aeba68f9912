package main

import (
	"io"
	"os"
	"strings"

	"streamer/internal/cli"
	"streamer/internal/events"
)

// formatFlag is the flag with the name of a stream format.
type formatFlag struct {
	Format string `placeholder:"FORMAT" words:"formats" help:"format of the stream: WORDS; if empty, it is recognised"`
}

// tokenOf returns the token of a session that an argument names.
func tokenOf(i *cli.Invocation, session string) (string, error) {
	token, err := events.Token(session)
	if err != nil {
		return "", i.Misused("session: %s", strings.TrimPrefix(err.Error(), "events: "))
	}
	return token, nil
}

// openInput opens a file: standard input for - and for none.
func openInput(std stdio, file string) (io.ReadCloser, error) {
	if file == "" || file == "-" {
		return io.NopCloser(std.in), nil
	}
	return os.Open(file)
}
