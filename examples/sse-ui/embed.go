// Package sseui is the page that shows tool calls as they happen: plain HTML,
// CSS and ES modules that need no build and load nothing from anywhere else.
//
// It promises to work under the policy default-src 'self', served from / of
// the gateway whose API it reads, and to keep these attributes for tests that
// drive a browser:
//
//	.card[data-call][data-tool][data-state][data-open]  a call: its id in the session, the tool,
//	                                                    its state as events name it, true or false
//	.card .elapsed, .stop-call, .result, .late, .reason its time, stop button, and how it ended
//	#pill[data-connection]                              idle, connecting, catching-up, live,
//	                                                    reconnecting, offline, gone, refused, ended
//	#main[data-stale]                                   true while what is shown is unconfirmed
//	#stop[data-asked]                                   true from the click to the confirming event
//	.message[data-message][data-role]                   a message
//	.run[data-run], .run-end[data-status]               where a run begins and ends
//	.notice[data-notice]                                rejected or orphan
//	html[data-theme]                                    light or dark, absent for auto
//	#polite, #assertive                                 what a screen reader hears
package sseui

import "embed"

// Files are what the gateway serves, by the path in the page's own links.
//
//go:embed index.html *.css *.js *.svg
var Files embed.FS
