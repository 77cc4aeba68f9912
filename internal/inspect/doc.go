// Package inspect shows operators what is in the logs of a running streamer:
// sessions, calls and events, live or stored, and what is wrong with the streams.
//
// It only reads. What it writes to a terminal is meant for people and can change;
// lines of JSON are stored events, or objects that only gain fields.
//
// The commands read the logs themselves, also while no worker and no gateway runs. Service
// answers the same on NATS, for clients whose account does not reach the logs.
package inspect
