package natsserver

import (
	"fmt"
	"strconv"

	deploy "streamer/deploy/nats"

	"github.com/nats-io/nats-server/v2/server"
)

// Users of the embedded server. Clients without credentials are localUser, in the
// account of clients. The others are in the account of the streams.
const (
	ownUser   = "streamer"
	agentUser = "agent"
	localUser = "local"
)

const accountOwn = "STREAMER"

// accounts is the configuration of both accounts, without their users. The limit of
// subscriptions applies to each connection.
const accounts = `accounts {
  STREAMER {
    jetstream: enabled
    users: [%s]
    %s
  }
  APP {
    users: [%s]
    limits {max_connections: 10000, max_subscriptions: 10000}
    %s
  }
}`

func (s *Server) isolate(o *server.Options) error {
	own, clients := denying(ownUser, s.own, "toolcalls.>")+"\n"+agent(s.agent), denying(localUser, "", "toolcalls.>")
	if err := o.ProcessConfigString(fmt.Sprintf(accounts, own, deploy.Exports, clients, deploy.Imports)); err != nil {
		return fmt.Errorf("natsserver: accounts of the embedded server: %w", err)
	}
	o.NoAuthUser = localUser
	return nil
}

func denying(name, password, subject string) string {
	return fmt.Sprintf("{user: %s, password: %s, permissions: {publish: {deny: [%s]}}}", name, strconv.Quote(password), strconv.Quote(subject))
}

// agent returns the user of trusted agents. Their inboxes differ from those of this
// process, whose messages they must not receive.
func agent(password string) string {
	return fmt.Sprintf(`{user: %s, password: %s, permissions: {
  publish: ["llm.*.delta", "llm.*.result", "llm.*.progress", "llm.*.interrupt", "llm.*.end"]
  subscribe: ["_INBOX.>", "toolcalls.>"]
}}`, agentUser, strconv.Quote(password))
}
