package server

import (
	"errors"
	"slices"
)

// Roles are the parts of a server that a process runs.
type Roles struct {
	Worker  bool // folds inputs and closes calls
	Gateway bool // serves the page, the HTTP API and the repair service
}

// Role is the name of a part of a server.
type Role string

// The roles.
const (
	RoleWorker  Role = "worker"
	RoleGateway Role = "gateway"
)

func rolesOf(names []Role) Roles {
	return Roles{Worker: slices.Contains(names, RoleWorker), Gateway: slices.Contains(names, RoleGateway)}
}

// check returns an error if a process with these roles would do nothing, or if
// nothing would fold what it stores.
func (c *Config) check() error {
	switch {
	case !c.Roles.Worker && !c.Roles.Gateway:
		return errors.New("invalid --roles: need worker, gateway, or both")
	case !c.Roles.Worker && c.Broker.URL == "":
		return errors.New("invalid --roles gateway: need --nats-url, because the embedded server needs a worker in the same process")
	case !c.Roles.Worker && c.HTTPListen == "":
		return errors.New("invalid --roles gateway: need --http-listen")
	}
	return nil
}
