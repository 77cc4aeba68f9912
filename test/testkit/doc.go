// Package testkit has what tests of running programs need: the programs, free ports,
// connections that are interrupted, conditions to wait for, and which tests are
// campaigns.
//
// It imports nothing of this module, so that the tests of every package can use it.
package testkit
