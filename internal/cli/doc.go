// Package cli reads command lines with kong. The value of a flag comes from the
// command line, else from the environment, else from the configuration file, else
// from its default. The package records which of them it was.
//
// A flag in a group means the same in every command that has it: its variable is
// STREAMER_FLAG, and its key stands at the top of the configuration file. Any other
// flag belongs to its command: its variable is STREAMER_COMMAND_FLAG, and its key
// stands in the section of the command.
package cli
