package server

import (
	"fmt"
	"os"
	"slices"
	"time"

	"streamer/internal/auth"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/sink"

	"github.com/rs/zerolog"
)

// SinkFlags are the flags of the sink.
type SinkFlags struct {
	SinkURL         string        `name:"sink-url" secret:"" group:"sink" placeholder:"URL" help:"URL to which events are delivered as webhooks; if empty, no sink"`
	SinkName        string        `group:"sink" placeholder:"NAME" help:"name of the sink, under which it continues after a restart; processes with the same name share the events; if empty, default"`
	SinkSecretFile  string        `group:"sink" placeholder:"FILE" help:"file with the secret of the signatures, whsec_ and base64 or another text; while it is replaced, several lines; if empty, no signatures"`
	SinkTypes       []string      `group:"sink" placeholder:"TYPE" help:"types of the events to deliver, such as tool_call_result; if empty, all but synthetic"`
	SinkSession     []string      `group:"sink" placeholder:"PATTERN" sep:"none" help:"sessions whose events are delivered, in which * matches any characters; may be repeated; if none, all"`
	SinkCloudEvents bool          `name:"sink-cloudevents" group:"sink" help:"bodies are batches of CloudEvents 1.0"`
	SinkBatch       int           `group:"sink" placeholder:"NUMBER" help:"maximum number of events in one request; if 0, 100"`
	SinkGiveUp      time.Duration `group:"sink" placeholder:"DURATION" help:"time after which events that cannot be delivered become dead letters, which streamer sinks lists; if 0, 1h"`
}

// options returns the options of the sink.
func (f *SinkFlags) options() (o sink.Options, err error) {
	o = sink.Options{Name: f.SinkName, URL: f.SinkURL, CloudEvents: f.SinkCloudEvents, Batch: f.SinkBatch, GiveUp: f.SinkGiveUp}
	if f.SinkSecretFile != "" {
		text, err := os.ReadFile(f.SinkSecretFile)
		if err == nil {
			o.Secrets, err = sink.ParseSecrets(string(text))
		}
		if err != nil {
			return o, fmt.Errorf("--sink-secret-file: %w", err)
		}
	}
	for _, t := range f.SinkTypes {
		if !slices.Contains(events.Types(), events.Type(t)) || events.Type(t) == events.Synthetic {
			return o, fmt.Errorf("--sink-types: there is no event type %.50q", t)
		}
		o.Types = append(o.Types, events.Type(t))
	}
	if patterns := f.SinkSession; len(patterns) > 0 {
		o.Match = func(session string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return auth.Match(p, session) })
		}
	}
	return o, nil
}

// openSink returns the sink of a server, nil if it has none.
func (s *Server) openSink() (*sink.Sink, error) {
	if s.config.Sink.SinkURL == "" || !s.config.Roles.Sink {
		return nil, nil
	}
	return s.config.Sink.New(s.Broker, s.log)
}

// New returns the sink of the flags.
func (f *SinkFlags) New(b *client.Broker, log zerolog.Logger) (*sink.Sink, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	made, err := sink.New(o, b, log)
	if err != nil {
		return nil, fmt.Errorf("--sink-url, --sink-name: %w", err)
	}
	return made, nil
}
