// Package nats holds the configuration of NATS servers that streamer uses. The
// embedded server is started with the exports and imports in it, so that what
// they allow is tested wherever streamer is.
package nats

import _ "embed" // for the files

// Exports is exports.conf, the part of the account STREAMER that says what other
// accounts may import.
//
//go:embed exports.conf
var Exports string

// Imports is imports.conf, the part of the account APP that says what clients
// reach.
//
//go:embed imports.conf
var Imports string
