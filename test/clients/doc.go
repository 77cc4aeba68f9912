// Package clients tests that the client libraries of frontends work with the gateway as
// they are. The sessions in testdata are published to a server while clients watch, and
// are replayed afterwards, with and without lost connections. What each client shows in
// the end is compared with the event log.
//
// The clients run in node, and EventSource also in Chromium. Install the libraries with
// `npm ci --ignore-scripts`. Where they are absent, the tests are skipped, or fail if
// STREAMER_REQUIRE_BROWSER is 1.
package clients
