// Package nats holds the configuration of NATS servers that streamer uses. The
// embedded server is started with the accounts in it, so that what they allow
// is tested wherever streamer is.
package nats

import _ "embed" // for Accounts

// Accounts is accounts.conf: the accounts of streamer and of its clients, with
// the variables STREAMER_USERS, APP_USERS and APP_LIMITS in place of users and
// limits.
//
//go:embed accounts.conf
var Accounts string
