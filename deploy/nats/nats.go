// Package nats embeds parts of the configuration of NATS servers for streamer. The
// embedded server uses the same exports and imports as the configuration files, so
// every test with the embedded server tests these files too.
package nats

import _ "embed" // for the files

// Exports is the content of exports.conf: the subjects of the account STREAMER that
// other accounts may import.
//
//go:embed exports.conf
var Exports string

// Imports is the content of imports.conf: the subjects that clients in the account
// APP can reach.
//
//go:embed imports.conf
var Imports string
