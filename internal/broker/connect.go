package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// connect reaches the server, waiting for it as long as ctx allows.
func (b *Broker) connect(ctx context.Context) (err error) {
	if err := checkURLs(b.opts.URL); err != nil {
		return err
	}
	b.nc, err = b.dial(ctx, func(err error) { b.notice("cannot connect to NATS", err) },
		nats.DisconnectErrHandler(b.disconnected),
		nats.ReconnectHandler(func(*nats.Conn) { b.reconnected() }),
		nats.LameDuckModeHandler(func(*nats.Conn) { b.notice("the NATS server is shutting down", nil) }))
	if err != nil {
		return err
	}
	// It shares the fate of the other one, which is told of.
	b.reads, err = b.dial(ctx, func(error) {}, nats.ReconnectHandler(func(*nats.Conn) { b.again.fire() }))
	return err
}

// dial makes one connection; failed hears of every try that fails.
func (b *Broker) dial(ctx context.Context, failed func(error), more ...nats.Option) (*nats.Conn, error) {
	target := b.opts.URL
	options := append(b.natsOptions(), more...)
	if b.embedded != nil {
		target = ""
		options = append(options, nats.InProcessServer(b.embedded.server), nats.UserInfo(ownUser, b.embedded.password))
	}
	refused := make(chan error, 1)
	up := make(chan struct{}, 1)
	options = append(options,
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { failed(err); b.unreachable(err, refused) }),
		nats.ConnectHandler(func(*nats.Conn) { up <- struct{}{} }))
	nc, err := nats.Connect(target, options...)
	if errors.Is(err, nats.ErrNoServers) {
		return nil, fmt.Errorf("broker: nothing answers on %s", redacted(target))
	} else if err != nil {
		return nil, fmt.Errorf("broker: connecting to %s: %w", redacted(target), err)
	}
	select {
	case <-up:
		return nc, nil
	case err = <-refused:
	case <-ctx.Done():
		err = errors.Join(ctx.Err(), nc.LastError())
	}
	nc.Close()
	return nil, fmt.Errorf("broker: connecting to %s: %w", redacted(target), err)
}

func (b *Broker) natsOptions() []nats.Option {
	o := b.opts
	name := o.Name
	if name == "" {
		name = "streamer"
	}
	options := []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1), // the default of 60 closes the connection for good
		nats.RetryOnFailedConnect(!o.Existing),
		// Nor do credentials that are refused, which the default gives up at the
		// second time: they are renewed, and accounts come back.
		nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(func(tries int) time.Duration { return backoff(tries) + rand.N(100*time.Millisecond) }),
		// What is published while there is no connection fails at once and is
		// sent again by the publisher, instead of being replayed by the
		// library when a partition may have moved on.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second), // a dead peer is noticed in 30 s, not in 6 min
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { b.asyncError(sub, err) }),
	}
	if o.Creds != "" {
		options = append(options, nats.UserCredentials(o.Creds))
	}
	if o.TLSCA != "" {
		options = append(options, nats.RootCAs(o.TLSCA))
	}
	if o.TLSCert != "" || o.TLSKey != "" {
		options = append(options, nats.ClientCert(o.TLSCert, o.TLSKey))
	}
	return options
}

// unreachable hears why a server could not be connected to. At the start a
// refusal of the credentials is told to whoever waits on refused.
func (b *Broker) unreachable(err error, refused chan<- error) {
	if !unauthorised(err) {
		return
	}
	b.counts.denied.Add(1)
	select {
	case refused <- err:
	default:
	}
}

// unauthorised tells whether a server does not know us, or not any more.
func unauthorised(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired)
}

// disconnected tells of a connection that was lost; one that was closed has no
// error.
func (b *Broker) disconnected(_ *nats.Conn, err error) {
	if err != nil {
		b.counts.disconnected.Add(1)
		b.notice("disconnected from NATS", err)
	}
}

// reconnected wakes whoever lost something with the old connection: publishes
// their acks, readers their consumers, tails what was republished meanwhile.
func (b *Broker) reconnected() {
	b.counts.reconnected.Add(1)
	b.notice("reconnected to NATS", nil)
	if b.pubs != nil {
		b.pubs.resendAll()
	}
	b.again.fire()
	b.watches.lostAll()
}

// asyncError hears what the server says about no request in particular.
func (b *Broker) asyncError(sub *nats.Subscription, err error) {
	switch {
	case unauthorised(err):
		b.counts.denied.Add(1)
	case errors.Is(err, nats.ErrSlowConsumer) && sub != nil:
		b.counts.slow.Add(1)
		b.watches.lost(sub.Subject)
	case errors.Is(err, nats.ErrPermissionViolation):
		b.counts.denied.Add(1)
		// There is no reply to a forbidden publish: without this it would be
		// sent again for ever.
		if subject, ok := forbidden(err.Error()); ok {
			b.denied.Store(&subject)
			if b.pubs != nil {
				b.pubs.forbid(subject, err)
			}
		}
	}
	b.notice("NATS says", err)
}

// forbidden finds the subject in the server's words
// `Permissions Violation for Publish to "subject"`.
func forbidden(text string) (subject string, ok bool) {
	_, rest, found := strings.Cut(text, `Publish to "`)
	subject, _, closed := strings.Cut(rest, `"`)
	return subject, found && closed
}

// checkURLs refuses what is no list of URLs, and shows nothing of it that may
// be secret: the library's own error would quote all of it.
func checkURLs(urls string) error {
	for i, s := range strings.Split(urls, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = "nats://" + s // as the library does
		}
		if _, err := url.Parse(s); err != nil {
			return fmt.Errorf("broker: NATS URL %d of %s cannot be read: in a user name or password, write characters other than letters and digits as %%XX", i+1, redacted(urls))
		}
	}
	return nil
}

// redacted gives a list of URLs as it can be shown: without passwords and
// tokens.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, s := range list {
		u, err := url.Parse(strings.TrimSpace(s))
		switch at := strings.LastIndex(s, "@"); {
		case err == nil && u.User != nil:
			u.User = url.User("redacted")
			list[i] = u.String()
		case at >= 0: // no URL, but perhaps a secret
			list[i] = "redacted" + s[at:]
		case err != nil && strings.Contains(s, "://"): // or a half of one, if there was a comma in it
			list[i] = "redacted"
		}
	}
	return strings.Join(list, ",")
}
