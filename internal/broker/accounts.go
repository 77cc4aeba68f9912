package broker

import (
	"fmt"
	"strconv"

	deploy "streamer/deploy/nats"

	"github.com/nats-io/nats-server/v2/server"
)

// Users of the embedded server. Clients without credentials are localUser in
// the clients' account; the others are in the account that has the streams.
const (
	ownUser   = "streamer"
	agentUser = "agent"
	localUser = "local"
)

// accountOwn is the account that has the streams.
const accountOwn = "STREAMER"

// accounts is the configuration of both accounts, without their users. The
// subscriptions are those of each connection.
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

// isolate configures the accounts of a server. With shared, clients are in the
// account of the streams.
func (e *embedded) isolate(o *server.Options, shared bool) error {
	own, clients := denying(ownUser, e.own, "toolcalls.>")+"\n"+agent(e.agent), denying(localUser, "", "toolcalls.>")
	if shared {
		own, clients = own+"\n"+clients, ""
	}
	if err := o.ProcessConfigString(fmt.Sprintf(accounts, own, deploy.Exports, clients, deploy.Imports)); err != nil {
		return fmt.Errorf("broker: accounts of the embedded server: %w", err)
	}
	o.NoAuthUser = localUser
	return nil
}

// denying returns a user that may not publish on a subject.
func denying(name, password, subject string) string {
	return fmt.Sprintf("{user: %s, password: %s, permissions: {publish: {deny: [%s]}}}", name, strconv.Quote(password), strconv.Quote(subject))
}

// agent returns the user of agents that the operator trusts. Its inbox is not
// that of this process, whose messages it must not see.
func agent(password string) string {
	return fmt.Sprintf(`{user: %s, password: %s, permissions: {
  publish: ["llm.*.delta", "llm.*.result", "llm.*.progress", "llm.*.interrupt", "llm.*.end"]
  subscribe: ["_INBOX.>", "toolcalls.>"]
}}`, agentUser, strconv.Quote(password))
}
