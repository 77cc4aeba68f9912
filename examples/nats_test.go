package examples_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	deploy "streamer/deploy/nats"

	"github.com/nats-io/nats-server/v2/server"
)

// deployed runs a NATS server with the accounts of deploy/nats, and streamer on it. It
// returns the address of streamer, and the URL of NATS for a user.
func deployed(t *testing.T, user string) (http, url string) {
	t.Helper()
	accounts, err := os.ReadFile("../deploy/nats/accounts.conf")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`include "exports.conf"`, deploy.Exports, `include "imports.conf"`, deploy.Imports).Replace(string(accounts))
	options := &server.Options{}
	if err := options.ProcessConfigString(regexp.MustCompile(`\$\w+_PASSWORD`).ReplaceAllString(text, "x")); err != nil {
		t.Fatal(err)
	}
	address := runNATS(t, options)
	http, _, _ = serveWith(t, "--nats-url", "nats://streamer:x@"+address)
	awaitService(t, "nats://streamer:x@"+address)
	return http, "nats://" + user + ":x@" + address
}

// runNATS runs a NATS server with accounts, and returns its address.
func runNATS(t *testing.T, options *server.Options) string {
	t.Helper()
	options.Host, options.Port, options.JetStream, options.StoreDir, options.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir(), true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(within) {
		t.Fatal("the NATS server does not start")
	}
	return strings.TrimPrefix(s.ClientURL(), "nats://")
}
