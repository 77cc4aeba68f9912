// Package conformance contains only tests: recorded streams give the calls that are
// expected of them, however they are cut, and event logs obey the order of events. The
// tests start no goroutine.
package conformance
