// Package tap tests that the SDKs of models work through the tap as they are. A fake
// upstream replays the answers in testdata with chunks of random sizes. What the
// application gets, the requests that the upstream gets, and the calls in the log of a
// real server are compared, without the tap and with it.
//
// The SDKs run in node. Install them with `npm ci --ignore-scripts`. Where they are
// absent, the tests are skipped, or fail if STREAMER_REQUIRE_BROWSER is 1. Those for Go are
// in a module of their own, and run in a campaign.
package tap
