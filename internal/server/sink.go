package server

import (
	"fmt"
	"os"
	"slices"
	"time"

	"streamer/internal/auth"
	"streamer/internal/events"
	"streamer/internal/sink"
)

// SinkFlags are the flags of the sink.
type SinkFlags struct {
	SinkTarget
	SinkName    string        `group:"sink" placeholder:"NAME" help:"name of the sink, under which it continues after a restart; processes with the same name share the events; if empty, default"`
	SinkTypes   []string      `group:"sink" placeholder:"TYPE,..." help:"types of the events to deliver, such as tool_call_result; if empty, all but synthetic"`
	SinkSession []string      `group:"sink" placeholder:"PATTERN" sep:"none" help:"sessions whose events are delivered, in which * matches any characters; may be repeated; if none, all"`
	SinkBatch   int           `group:"sink" placeholder:"NUMBER" help:"maximum number of events in one request; if 0, 100"`
	SinkGiveUp  time.Duration `group:"sink" placeholder:"DURATION" help:"time after which events that cannot be delivered become dead letters, which streamer sinks lists; if 0, 1h"`
}

// SinkTarget are the flags of the requests of a sink.
type SinkTarget struct {
	SinkURL         string `name:"sink-url" secret:"" group:"sink" placeholder:"URL" help:"URL to which events are delivered as webhooks; if empty, no sink"`
	SinkSecretFile  string `group:"sink" placeholder:"FILE" help:"file with the secret of the signatures, whsec_ and base64 or another text; while it is replaced, several lines; if empty, no signatures"`
	SinkCloudEvents bool   `name:"sink-cloudevents" group:"sink" help:"bodies are batches of CloudEvents 1.0"`
}

// Target returns the options of a sink with a name.
func (f *SinkTarget) Target(name string) (o sink.Options, err error) {
	o = sink.Options{Name: name, URL: f.SinkURL, CloudEvents: f.SinkCloudEvents}
	if f.SinkSecretFile != "" {
		text, err := os.ReadFile(f.SinkSecretFile)
		if err == nil {
			o.Secrets, err = sink.ParseSecrets(string(text))
		}
		if err != nil {
			return o, fmt.Errorf("--sink-secret-file: %w", err)
		}
	}
	return o, nil
}

// options returns the options of the sink.
func (f *SinkFlags) options() (o sink.Options, err error) {
	if o, err = f.Target(f.SinkName); err != nil {
		return o, err
	}
	o.Batch, o.GiveUp = f.SinkBatch, f.SinkGiveUp
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
	f := &s.config.Sink
	if f.SinkURL == "" || !s.config.Roles.Sink {
		return nil, nil
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	made, err := sink.New(o, s.Broker, s.log)
	if err != nil {
		return nil, fmt.Errorf("--sink-url, --sink-name: %w", err)
	}
	return made, nil
}
