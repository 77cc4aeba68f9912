package broker

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// card is the description of a service.
type card struct {
	micro.ServiceIdentity
	started time.Time
}

func newCard(s Service) card {
	return card{
		ServiceIdentity: micro.ServiceIdentity{
			Name: s.Name, ID: strings.ToLower(rand.Text()), Version: s.Version, Metadata: map[string]string{},
		},
		started: time.Now().UTC(),
	}
}

// verbs returns the requests for information about the service, by subject: to all
// services, to all of this name, and to this instance.
func (l *listening) verbs() map[string]func() any {
	all := map[string]func() any{}
	for verb, answer := range map[string]func() any{
		"PING": l.ping, "INFO": l.info, "STATS": l.statistics,
	} {
		subject := micro.APIPrefix + "." + verb
		all[subject] = answer
		all[subject+"."+l.Name] = answer
		all[subject+"."+l.Name+"."+l.card.ID] = answer
	}
	return all
}

func (l *listening) ping() any {
	return micro.Ping{ServiceIdentity: l.card.ServiceIdentity, Type: micro.PingResponseType}
}

func (l *listening) info() any {
	info := micro.Info{ServiceIdentity: l.card.ServiceIdentity, Type: micro.InfoResponseType, Description: l.Description}
	for _, e := range l.Endpoints {
		info.Endpoints = append(info.Endpoints, micro.EndpointInfo{
			Name: e.Name, Subject: e.Subject, QueueGroup: l.Name, Metadata: map[string]string{},
		})
	}
	return info
}

func (l *listening) statistics() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	stats := micro.Stats{ServiceIdentity: l.card.ServiceIdentity, Type: micro.StatsResponseType, Started: l.card.started}
	for _, now := range l.stats {
		stats.Endpoints = append(stats.Endpoints, &now)
	}
	return stats
}

// describe answers a request for information.
func (l *listening) describe(m *nats.Msg, what any) {
	if !repliesTo(m.Reply) {
		return
	}
	body, err := json.Marshal(what)
	if err != nil { // these structs always marshal
		return
	}
	l.send(&nats.Msg{Subject: m.Reply, Data: body})
}
