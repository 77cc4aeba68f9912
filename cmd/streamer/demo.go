package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"
)

const demoHelp = `Usage: streamer demo [flags]

Runs what serve runs, on an embedded NATS server, and plays five recorded
sessions at the speed models stream. Open the page it names. To be seen:

  trip-planner   OpenAI chat: reasoning and text, three parallel calls whose args
                 arrive interleaved, progress, a tool that fails, and one whose
                 result never comes: it times out
  code-review    Anthropic: a tool of the provider's own, a test run that fails,
                 args cut off by max_tokens, a call that is denied
  data-analyst   LangGraph: two sub-agents at once, and a call that waits for a
                 person, who approves it
  support-desk   LangGraph: a new human message cancels two running calls, one of
                 them answers late; then the whole session is stopped
  night-report   OpenAI chat: the stream just stops in the middle of the args

Every start plays into new sessions. Deadlines are short, so that all of them
pass within the demo; with no --tool-timeout it is ` + demoTools + `.

Flags:

`

// demoTools is the result timeout of the tools that never answer.
const demoTools = "slow_*=6s"

// demoDefaults are the defaults of serve's flags that suit a demo.
var demoDefaults = [...]struct{ flag, value string }{
	{"args-timeout", "8s"},
	{"result-timeout", "20s"},
	{"run-idle", "10s"},
	{"log-level", "warn"},
}

func demo(ctx context.Context, std stdio, args []string) error {
	fs := flags("demo")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), demoHelp)
		fs.PrintDefaults()
	}
	var s serveFlags
	s.register(fs)
	for _, d := range demoDefaults {
		if err := preset(fs, d.flag, d.value); err != nil {
			return err
		}
	}
	once := fs.Bool("once", false, "end when all is played and every call is closed")
	speed := fs.String("speed", "1", "1 (as models stream), 10 or max; deadlines stay as they are")
	rest, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	factor, ok := map[string]time.Duration{"1": 1, "10": 10, "max": 0}[*speed]
	switch {
	case !ok:
		return misused(std, fs, "--speed %q is not 1, 10 or max", *speed)
	case len(rest) > 0:
		return misused(std, fs, "there is no argument %q", rest[0])
	}
	if len(s.tools) == 0 {
		if err := s.tools.Set(demoTools); err != nil {
			return err
		}
	}
	return showDemo(ctx, std, &s, factor, *once)
}

// preset gives a flag another default.
func preset(fs *flag.FlagSet, name, value string) error {
	f := fs.Lookup(name)
	if err := f.Value.Set(value); err != nil {
		return fmt.Errorf("default of --%s: %w", name, err)
	}
	f.DefValue = value
	return nil
}

// showDemo runs the house and plays in it. The house goes on after the play
// until ctx ends, unless it is to be shown once only.
func showDemo(ctx context.Context, std stdio, s *serveFlags, speed time.Duration, once bool) error {
	stage, err := newStage(time.Now().Format("150405"), speed)
	if err != nil {
		return err
	}
	h, err := open(ctx, std, s)
	if err != nil {
		return err
	}
	defer h.close()
	stage.broker, stage.rules, stage.patience = h.broker, h.worker.Options.Rules, s.longest()+10*time.Second

	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- h.run(running)
	}()
	select {
	case <-h.opened:
	case <-running.Done():
		return <-ended
	}
	stage.announce(std.out, h)
	played := stage.play(running)
	if played == nil {
		fmt.Fprintln(std.out, stage.summary())
		if !once {
			fmt.Fprintf(std.out, "\nThe page stays up, and so does everything else; Ctrl-C ends it.\n")
			<-running.Done()
		}
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	if ctx.Err() != nil && errors.Is(played, context.Canceled) {
		if once {
			return errors.New("stopped before everything was played")
		}
		return nil // a person has seen enough
	}
	return played
}

// longest gives the longest that a call can stay open with nothing heard.
func (s *serveFlags) longest() time.Duration {
	d := max(s.args, s.result)
	for _, t := range s.tools {
		d = max(d, t.ResultTimeout.Std())
	}
	return d
}
