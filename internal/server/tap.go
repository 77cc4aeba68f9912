package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/tap"
)

// TapFlags are the flags of the tap.
type TapFlags struct {
	Tap        []string `group:"tap" placeholder:"UPSTREAM" help:"servers of models that the tap passes requests on to, under /tap/NAME: NAME=URL, or one of openai, anthropic, gemini, mistral, cohere, openrouter, ollama, chatgpt, code-assist; may be repeated; if none, no tap"`
	TapRepair  bool     `group:"tap" help:"repair of histories that an upstream would refuse; the header Streamer-Repair of the answer says what was done"`
	TapReadOn  bool     `group:"tap" help:"answers are read to their end for the log when the client has left"`
	TapSession string   `group:"tap" placeholder:"PATH" help:"path of the member of a request that names the session, such as metadata.thread"`
	TapAWS     bool     `name:"tap-aws" group:"tap" help:"new signatures for requests that are signed for the address of the tap with AWS SigV4, with the credentials in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"`
}

func (f *TapFlags) set(c *Config) { c.Tap = *f }

// TapOptions returns the options of a tap without those that need the store.
func (f *TapFlags) TapOptions() (o tap.Options, err error) {
	o.Repair, o.ReadOn, o.SessionPath = f.TapRepair, f.TapReadOn, f.TapSession
	for _, text := range f.Tap {
		u, err := tap.ParseUpstream(text)
		if err != nil {
			return o, fmt.Errorf("--tap: %w", err)
		}
		o.Upstreams = append(o.Upstreams, u)
	}
	if f.TapAWS {
		id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
		if id == "" || secret == "" {
			return o, errors.New("--tap-aws: AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set")
		}
		o.AWS = tap.Static(id, secret, os.Getenv("AWS_SESSION_TOKEN"))
	}
	return o, nil
}

// openTap returns the tap of a server, nil if it has none.
func (s *Server) openTap() (*tap.Tap, error) {
	o, err := s.config.Tap.TapOptions()
	if err != nil || len(o.Upstreams) == 0 {
		return nil, err
	}
	TapLog(&o, s.Broker)
	o.Publish, o.Log = s.store().Publish, s.log
	return tap.New(o)
}

// TapLog sets the options of a tap that need the logs: it publishes to the input log of a
// broker, and reads its event log.
func TapLog(o *tap.Options, b *client.Broker) {
	o.Publish = b.Append
	o.Known = func(ctx context.Context, token string) (bool, error) {
		seq, _, err := b.Head(ctx, token)
		return seq > 0, err
	}
	o.LastHuman = func(ctx context.Context, token string) (string, error) {
		r, err := b.LastOf(ctx, token, events.HumanMessage)
		if err != nil || r.Seq == 0 {
			return "", err
		}
		e, err := eventOf(r)
		return e.Content, err
	}
	o.Follow = func(ctx context.Context, typ events.Type, fn func(e *events.Event, seq uint64)) error {
		return b.Follow(ctx, typ, func(r events.Record) error {
			if r.Seq == 0 {
				fn(nil, 0)
				return nil
			}
			e, err := eventOf(r)
			if err == nil {
				fn(&e, r.Seq)
			}
			return err
		})
	}
	o.Calls = func(ctx context.Context, token string, fn func(id string)) error {
		return b.EventsOf(ctx, token, events.ToolCallStart, 0, func(r events.Record) error {
			e, err := eventOf(r)
			if err == nil {
				fn(e.ID)
			}
			return err
		})
	}
}

func eventOf(r events.Record) (e events.Event, err error) {
	if err = json.Unmarshal(r.Data, &e); err != nil {
		err = fmt.Errorf("event %d: %w", r.Seq, err)
	}
	return e, err
}

// tapGrace is the time in which the tap publishes what it has copied, when the server stops.
const tapGrace = 3 * time.Second

func (s *Server) closeTap() {
	if s.tap != nil {
		ctx, cancel := context.WithTimeout(context.Background(), tapGrace)
		defer cancel()
		s.tap.Close(ctx)
	}
}
