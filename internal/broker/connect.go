package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

func (b *Broker) connect(ctx context.Context) (err error) {
	if err := checkURLs(b.opts.URL); err != nil {
		return err
	}
	b.nc, err = b.dial(ctx,
		nats.DisconnectErrHandler(b.disconnected),
		nats.ReconnectHandler(func(*nats.Conn) { b.reconnected() }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.report(noConnection, "cannot connect to NATS", err) }),
		nats.LameDuckModeHandler(func(*nats.Conn) { b.Notice("the NATS server is shutting down", nil) }))
	if err != nil {
		return err
	}
	// It is lost and restored with the other one, whose handlers report that.
	b.reads, err = b.dial(ctx, nats.ReconnectHandler(func(*nats.Conn) { b.again.fire() }))
	return err
}

func (b *Broker) dial(ctx context.Context, more ...nats.Option) (*nats.Conn, error) {
	target := b.opts.URL
	options := append(b.natsOptions(), more...)
	if b.embedded != nil {
		target = ""
		options = append(options, nats.InProcessServer(b.embedded), nats.UserInfo(b.embedded.Own()))
	}
	for try := 0; ; try++ {
		nc, err := nats.Connect(target, options...)
		if err == nil {
			return nc, nil
		}
		err, hope := diagnose(target, options, err)
		if err == errSilence { //nolint:errorlint // the error of a list names the servers
			err = fmt.Errorf("broker: %w on %s", err, redacted(target))
		} else {
			err = fmt.Errorf("broker: connecting to %s: %w", redacted(target), err)
		}
		if b.opts.Existing || !hope {
			return nil, err
		}
		b.report(noConnection, "cannot connect to NATS", err)
		if b.Backoff(ctx, try) != nil {
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// diagnose returns why no server of a list can be connected to: the library reports
// only the error of the last. hope reports whether one of them may answer later.
func diagnose(target string, options []nats.Option, err error) (why error, hope bool) {
	servers := strings.Split(target, ",")
	if len(servers) == 1 {
		if errors.Is(err, nats.ErrNoServers) {
			err = errSilence // the library's text is about a list
		}
		return err, !hopeless(err)
	}
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			nc, err := nats.Connect(s, options...)
			if err == nil { // the server answers now
				nc.Close()
				return
			}
			why, _ := diagnose(s, nil, err)
			errs[i] = fmt.Errorf("%s: %w", redacted(s), why)
		})
	}
	wg.Wait()
	for _, err := range errs {
		hope = hope || err == nil || !hopeless(err)
		switch {
		case why == nil:
			why = err
		case err != nil:
			why = fmt.Errorf("%w; %w", why, err)
		}
	}
	return why, hope
}

var errSilence = errors.New("nothing answers")

// inboxPrefix is the prefix of this process's inboxes. A trusted agent in the same
// account may subscribe to _INBOX.>, and must not receive what this process reads.
const inboxPrefix = "_INBOX_STREAMER"

func (b *Broker) natsOptions() []nats.Option {
	o := b.opts
	options := []nats.Option{
		nats.Name("streamer"),
		nats.CustomInboxPrefix(inboxPrefix),
		nats.MaxReconnects(-1), // the default of 60 closes the connection for good
		// By default, credentials that are refused twice close the connection too. But
		// credentials are renewed, and accounts restored.
		nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(func(tries int) time.Duration { return backoff(tries) + rand.N(100*time.Millisecond) }),
		// Without a connection a publish fails, and is sent again. The library would
		// replay it later, when another process may own the partition.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second), // a dead peer is detected in 30 s, not in 6 min
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

// hopeless reports whether another try to connect cannot succeed: the server has
// another identity than expected or refuses the credentials, or a file cannot be
// read.
func hopeless(err error) bool {
	remote := (*net.OpError)(nil) // the server refuses the client certificate
	return unauthorised(err) || errors.Is(err, nats.ErrTLS) || errors.As(err, &remote) && remote.Op == "remote error" ||
		errors.Is(err, nats.ErrSecureConnWanted) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

func unauthorised(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired)
}

var errNotConnected = errors.New("not connected to NATS")

// unconnected returns err, or errNotConnected for the error of the library without a
// connection, whose text is about its buffer.
func unconnected(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return errNotConnected
	}
	return err
}

// disconnected reports a lost connection. A connection that was closed has no
// error.
func (b *Broker) disconnected(_ *nats.Conn, err error) {
	if err != nil {
		b.counts.disconnected.Add(1)
		b.down.begin(time.Now())
		b.notices.connectionLost(time.Now())
		b.Notice("disconnected from NATS", err)
	}
}

// reconnected wakes the goroutines that depend on the old connection: publishes
// lost their acks, readers their consumers, and subscriptions the messages sent
// meanwhile.
func (b *Broker) reconnected() {
	b.counts.reconnected.Add(1)
	b.down.end(time.Now())
	b.notices.connected()
	b.Notice("reconnected to NATS", nil)
	if b.pubs != nil {
		b.pubs.resendAll()
	}
	b.again.fire()
	b.subs.lostAll()
}

func (b *Broker) asyncError(sub *nats.Subscription, err error) {
	switch broken := (*net.OpError)(nil); {
	case errors.As(err, &broken):
		return // the connection is lost: disconnected reports it
	case unauthorised(err):
		b.counts.denied.Add(1)
	case errors.Is(err, nats.ErrSlowConsumer) && sub != nil:
		b.counts.slow.Add(1)
		b.subs.lost(sub)
	case errors.Is(err, nats.ErrPermissionViolation):
		b.counts.denied.Add(1)
		// A forbidden publish has no reply: without this it would be sent again
		// without end.
		if subject, ok := forbidden(err.Error()); ok {
			b.denied.Store(&subject)
			if b.pubs != nil {
				b.pubs.finishAll(fmt.Errorf("%w: %w", ErrRefused, err), func(f *inflight) bool { return f.pub.Subject == subject })
			}
		}
	}
	kind := err.Error()
	if unauthorised(err) {
		kind = accessRefused
	}
	b.report(kind, "NATS says", err)
}

// forbidden returns the subject in the server's text
// `Permissions Violation for Publish to "subject"`.
func forbidden(text string) (subject string, ok bool) {
	_, rest, found := strings.Cut(text, `Publish to "`)
	subject, _, closed := strings.Cut(rest, `"`)
	return subject, found && closed
}

// checkURLs returns an error where urls is not a list of URLs. The error has no part
// of it that may be secret: the library's own error would quote all of it.
func checkURLs(urls string) error {
	for i, s := range strings.Split(urls, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = "nats://" + s // as the library does
		}
		u, err := url.Parse(s)
		if err != nil {
			return fmt.Errorf("broker: NATS URL %d of %s cannot be read: need nats://HOST:PORT; in a user name or password, write characters other than letters and digits as %%XX", i+1, redacted(urls))
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("broker: NATS URL %d of %s begins with %s://, not with nats://, tls://, ws:// or wss://", i+1, redacted(urls), u.Scheme)
		}
	}
	return nil
}

func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, s := range list {
		u, err := url.Parse(strings.TrimSpace(s))
		switch at := strings.LastIndex(s, "@"); {
		case err == nil && u.User != nil:
			u.User = url.User("redacted")
			list[i] = u.String()
		case at >= 0: // not a URL, but perhaps a secret
			list[i] = "redacted" + s[at:]
		case err != nil && strings.Contains(s, "://"): // or a part of one that has a comma
			list[i] = "redacted"
		}
	}
	return strings.Join(list, ",")
}
