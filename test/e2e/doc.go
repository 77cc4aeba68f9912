// Package e2e tests the program from outside: processes that are killed, a real
// browser, clients of every interface, and recorded streams with the calls that
// are expected of them. TestMain builds the program once.
//
// Some tests run a server of package app in the test process instead, where they
// read its counters or replace a part of it.
package e2e
