// Package client connects to the streams of a server, and does the work of the
// commands that use them: it publishes recorded streams and interrupts, repairs
// histories with the event log, and follows the outcome of inputs. Dial creates no
// stream. For the order of inputs and events, and for crashes, the promises of broker
// apply unchanged.
package client
