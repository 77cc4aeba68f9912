package server

import (
	"errors"
	"fmt"
	"slices"
)

// Roles are the parts of a server that a process runs.
type Roles struct {
	Worker  bool // folds inputs and closes calls
	Gateway bool // serves the page, the HTTP API and the repair service
	Sink    bool // delivers events, if there is a URL to deliver them to
}

// Role is the name of a part of a server.
type Role string

// The roles.
const (
	RoleWorker  Role = "worker"
	RoleGateway Role = "gateway"
	RoleSink    Role = "sink"
)

func rolesOf(names []Role) Roles {
	return Roles{
		Worker: slices.Contains(names, RoleWorker), Gateway: slices.Contains(names, RoleGateway), Sink: slices.Contains(names, RoleSink),
	}
}

// check returns an error if a process with these roles would do nothing, or if
// nothing would fold what it stores.
func (c *Config) check() error {
	switch {
	case !c.Roles.Worker && !c.Roles.Gateway && !c.Roles.Sink:
		return errors.New("invalid --roles: need worker, gateway or sink")
	case c.Roles.Sink && !c.Roles.Worker && !c.Roles.Gateway && c.Sink.SinkURL == "":
		return errors.New("invalid --roles sink: need --sink-url")
	case !c.Roles.Worker && c.Broker.URL == "":
		role := RoleGateway
		if !c.Roles.Gateway {
			role = RoleSink
		}
		return fmt.Errorf("invalid --roles %s: need --nats-url, because the embedded server needs a worker in the same process", role)
	case !c.Roles.Worker && c.Roles.Gateway && c.HTTPListen == "":
		return errors.New("invalid --roles gateway: need --http-listen")
	}
	return nil
}
