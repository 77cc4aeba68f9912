package main

import (
	"errors"
	"strings"

	"streamer/internal/events"
)

type formatFlag struct {
	Format string `placeholder:"FORMAT" words:"formats" help:"format of the stream: WORDS; if empty, it is recognised"`
}

type session struct{ name, token string }

func (s *session) UnmarshalText(text []byte) error {
	token, err := events.Token(string(text))
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "events: "))
	}
	*s = session{string(text), token}
	return nil
}
