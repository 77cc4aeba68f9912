package main

import (
	"context"
	"encoding/json"
	"fmt"

	"streamer/internal/session"

	"github.com/nats-io/nuid"
)

func interrupt(ctx context.Context, std stdio, args []string) error {
	fs := flags("interrupt")
	var n natsFlags
	n.register(fs)
	var calls words
	fs.Var(&calls, "call", "`ID` of a call to close, the provider's or the call's own name; may be repeated; without it all open calls")
	reason := fs.String("reason", "", "`text` that says why")
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
	b, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer b.Close()
	body, err := json.Marshal(struct {
		Reason string   `json:"reason,omitempty"`
		IDs    []string `json:"tool_call_ids,omitempty"`
		Calls  []string `json:"calls,omitempty"`
	}{*reason, calls, calls}) // a call's own name is nobody's id, and the other way round
	if err != nil {
		return err
	}
	r := replayer{b: b, token: token, nonce: nuid.Next()}
	if err := r.input(ctx, session.Interrupt, body); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "interrupt published to session %s\n", rest[0])
	return nil
}
