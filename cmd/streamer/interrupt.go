package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/nats-io/nuid"
)

// confirmation is how long a command waits by default for what its input caused.
const confirmation = 10 * time.Second

func interrupt(ctx context.Context, std stdio, args []string) error {
	fs := flags("interrupt")
	var n natsFlags
	n.register(fs)
	var calls words
	fs.Var(&calls, "call", "`ID` of a call to close: the provider's or, as 18.0, the call's own name; may be repeated; without it all open calls; exit status 3 where one is not open")
	reason := fs.String("reason", "", "`text` that says why")
	wait := fs.Duration("wait", confirmation, "how long to wait for what the interrupt closes; 0 publishes it only")
	rest, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return misused(std, fs, "one SESSION is needed, not %d", len(rest))
	}
	token, err := tokenOf(std, fs, rest[0])
	if err != nil {
		return err
	}
	body, err := interruptBody(*reason, calls)
	if err != nil {
		return err
	}
	if err := session.Check(inputs.Interrupt, body); err != nil {
		return misused(std, fs, "--call: %v", err)
	}
	b, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer b.Close()
	_, from, err := b.EventBounds(ctx)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s:%s:cli-%s", token, inputs.Interrupt, nuid.Next())
	a := b.PublishWait(ctx, b.InputPub(token, inputs.Interrupt, id, nil, body))
	if a.Err != nil {
		return a.Err
	}
	if *wait == 0 {
		fmt.Fprintf(std.out, "interrupt published to session %s as input %d\n", rest[0], a.Seq)
		return nil
	}
	number := a.Seq // of its events: another one where the log was rewound
	if m, _, err := b.LoadMark(ctx, b.Partition(token)); err == nil {
		number = m.Rewinds.Effective(a.Seq)
	}
	o := newOutcome(number, calls)
	if err := o.await(ctx, b, token, from, *wait); err != nil {
		return err
	}
	return o.report(std, rest[0])
}

// interruptBody returns the body that closes the named calls, or all. A name of
// the form of a call's own is one: no provider's ids have it.
func interruptBody(reason string, names []string) ([]byte, error) {
	var body struct {
		Reason string   `json:"reason,omitempty"`
		IDs    []string `json:"tool_call_ids,omitempty"`
		Calls  []string `json:"calls,omitempty"`
	}
	body.Reason = reason
	for _, name := range names {
		if _, err := events.ParseID(name); err == nil {
			body.Calls = append(body.Calls, name)
		} else {
			body.IDs = append(body.IDs, name)
		}
	}
	return json.Marshal(body)
}

// report prints what the interrupt closed, and what it did not find. The exit
// status is 3 where a call that was named was not open.
func (o *outcome) report(std stdio, session string) error {
	if o.rejected != "" {
		return fmt.Errorf("input %d was rejected: %s", o.seq, o.rejected)
	}
	for i := range o.closed {
		printClosed(std.out, &o.closed[i])
	}
	if o.run != "" {
		fmt.Fprintf(std.out, "ended run %s\n", o.run)
	}
	missing := o.missing()
	for _, name := range missing {
		fmt.Fprintf(std.err, "streamer interrupt: session %s has no open call %s\n", session, name)
	}
	if len(missing) > 0 {
		return exit(exitInput)
	}
	if len(o.closed) == 0 && o.run == "" {
		fmt.Fprintf(std.out, "nothing is open in session %s\n", session)
	}
	return nil
}

func printClosed(w io.Writer, e *events.Event) {
	name := e.ToolName
	if name == "" {
		name = "a tool without a name"
	}
	fmt.Fprintf(w, "closed call %s of %s, id %s\n", e.Call, name, e.ID)
}
