// Package demo runs a server and plays recorded sessions on it.
//
// A recorded session is a list of inputs with the time of each. Each run plays them
// in new sessions, so it does not depend on the data directory. A session begins when it is
// watched. With Options.Loop it is played again and again, each round with new ids, while
// it is watched. A run fails if a call stays open after all deadlines have passed.
package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"streamer/internal/cli"
	"streamer/internal/gateway"
	"streamer/internal/server"
	"streamer/internal/session"
)

// Contents describes the recorded sessions.
const Contents = `  trip-planner   OpenAI chat: reasoning and text, three parallel calls whose args
                 arrive interleaved, progress, a tool that fails, and a tool
                 without a result, whose call times out
  code-review    Anthropic: a tool that the provider runs, a test run that fails,
                 args cut off by max_tokens, a call that is denied
  data-analyst   LangGraph: two sub-agents at once, and a call that waits for a
                 person, and is approved
  support-desk   LangGraph: a new human message cancels two running calls, one of
                 which gets its result late; then the whole session is stopped
  supplier-check Claude Code: a tree of three sub-agents, a call that waits for
                 an approval, args that are not JSON, and a result of 72 KB
  night-report   OpenAI chat: the stream stops in the middle of the args
`

// Options configures a run.
type Options struct {
	Speed time.Duration   // factor by which the sessions are played faster than recorded; 0 for no pauses
	Once  bool            // begin without a viewer, and end when everything is played and every call is closed
	Loop  bool            // play a session again while it is watched
	Key   <-chan struct{} // begins the first rounds without a viewer; nil for none
}

// Run runs the server s, plays the recorded sessions on it, and prints to out the
// URLs at which they can be watched. Without Options.Once the server continues to
// run until ctx ends.
func Run(ctx context.Context, out io.Writer, s *server.Server, o Options) error {
	p, err := newPlayer(s, time.Now().Format("150405"), o.Speed)
	if err != nil {
		return err
	}
	if err := alone(ctx, s); err != nil {
		return err
	}
	now := time.Now()
	for _, part := range p.parts {
		s.Announced = append(s.Announced, gateway.SessionInfo{Session: part.name, Last: now, About: about(part.recorded)})
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- s.Run(running)
	}()
	select {
	case <-s.Opened():
	case <-running.Done():
		return <-ended
	}
	p.printAddresses(out, s)
	played := p.run(running, out, o)
	if played == nil && !o.Once {
		fmt.Fprint(out, "\nThe page stays up, and so does everything else; Ctrl-C ends it.\n")
		<-running.Done()
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	if ctx.Err() != nil && errors.Is(played, context.Canceled) {
		if o.Once {
			return errors.New("stopped before everything was played")
		}
		return nil // stopped by the user, which is no failure
	}
	return played
}

// alone returns an error if workers of other processes carry the partitions of the
// cluster: their settings would be in force, and not the short deadlines of the demo.
func alone(ctx context.Context, s *server.Server) error {
	if s.Embedded() {
		return nil
	}
	ids, err := s.Broker.Members(ctx)
	if err == nil && len(ids) > 0 {
		err = errors.New("another streamer process holds the partitions of these streams, and the demo needs its own settings: stop that process, or run the demo without --nats-url, on an embedded server; streamer replay publishes a recorded session to the running process")
	}
	return err
}

// longest returns the longest time that a call stays open without an input.
func longest(rules *session.Rules) time.Duration {
	d := max(rules.ArgsTimeout, rules.ResultTimeout)
	for _, t := range rules.Tools {
		d = max(d, t.ResultTimeout)
	}
	return d.Std()
}

func (p *player) printAddresses(w io.Writer, s *server.Server) {
	for i, part := range p.parts {
		label := "and "
		if i == 0 {
			label = "open"
		}
		fmt.Fprintf(w, "%s      %s\n", label, s.SessionPage(part.name))
	}
	fmt.Fprintf(w, "events    nats --server %s sub 'toolcalls.>'\n\n", s.Broker.URL())
}

// Enter returns a channel that is closed when a line is read from a terminal. It
// returns nil if in is no terminal.
func Enter(in io.Reader) <-chan struct{} {
	if !cli.IsTerminal(in) {
		return nil
	}
	key := make(chan struct{})
	go func() { // until the process ends: a read of a terminal cannot be stopped
		if _, err := bufio.NewReader(in).ReadString('\n'); err == nil {
			close(key)
		}
	}()
	return key
}
