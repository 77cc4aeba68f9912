// Package sseui is the page that shows tool calls as they happen: plain HTML,
// CSS and ES modules that need no build and load nothing from anywhere else.
//
// It promises to work under the policy default-src 'self', served from / of
// the gateway whose API it reads.
package sseui

import "embed"

// Files are what the gateway serves, by the path in the page's own links.
//
//go:embed index.html *.css *.js *.svg
var Files embed.FS
