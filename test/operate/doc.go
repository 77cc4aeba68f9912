// Package operate tests the procedures of docs/operations.md on running servers:
// backup and restore, the restart of one process after the other, and another number
// of partitions. Each test publishes meanwhile, and compares the logs afterwards.
package operate
