// Package sseui embeds the page that shows tool calls as they happen: plain
// HTML, CSS and ES modules, without foreign resources. What is served is in dist:
// the modules as one bundle, and as others what is used later and the renderers; the style
// sheets as one. dist/look.js has the style and the icons for elements.js, which other pages
// import. go generate writes it all, and a test checks that it is current.
//
// The page promises to work under the policy default-src 'self' with img-src data:, served from /
// of the gateway whose API it reads, and to keep these attributes for tests in
// a browser:
//
//	.card[data-call][data-tool][data-state][data-open]  a call: its id in the session, the tool,
//	                                                    its state as events name it, true or false
//	.card[data-chosen], [data-folded]                   true if all of it, or its first line, is shown
//	.card .elapsed, .stop-call, .result, .late, .reason its time, stop button, and outcome
//	#pill[data-connection]                              idle, connecting, catching-up, live,
//	                                                    reconnecting, offline, gone, refused, ended
//	#pill[data-shared]                                  true while other pages use the same connection
//	#main[data-stale]                                   true while the content is unconfirmed
//	#stop[data-asked]                                   true from the click to the confirming event
//	#stop[data-armed]                                   true if the next click stops several calls
//	.view[data-view]                                    a rendered value: diff, terminal, content, table or map
//	.message[data-message][data-role]                   a message
//	.run[data-run], .run-end[data-status]               the start and the end of a run
//	.notice[data-notice]                                rejected or orphan
//	#main[data-view], [data-source]                     cards, waterfall or both; live, replay or file
//	.wf-gaps i, .wf-labels [data-gap="true"]            a break of the axis, and what it leaves out
//	[role="separator"]                                  what changes a size
//	.wf-row[data-key][data-state][data-critical]        a row of the waterfall
//	.agent[data-open]                                   the messages of a sub-agent
//	#scrubber, .hi-list, .hi-hits                       the replay, the sessions, and the calls found
//	#search, #found                                     the search, and its number of calls
//	#raw tr[data-frame][data-call]                      a frame: its number, and the call it is about
//	#raw section[data-protocol]                         the frames of a protocol
//	#reader[data-native]                                true if the stream is read with EventSource
//	html[data-theme], [data-session]                    light or dark, absent for auto; true with a session
//	#polite, #assertive                                 the text for screen readers
package sseui

import (
	"embed"
	"io/fs"
)

//go:generate go test -run ^TestBuilt$ -update .

//go:embed dist/*.br dist/*.gz
var dist embed.FS

// Files returns the files that the gateway serves, by the path in the links of the page
// and .br or .gz, as which they are compressed.
func Files() fs.FS {
	files, _ := fs.Sub(dist, "dist") // the name is valid
	return files
}
