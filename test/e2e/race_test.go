//go:build race

package e2e

// raceFlag builds the program as the tests are built.
const raceFlag = "-race=true"

// snapshotEvery is the number of inputs from a snapshot of a small state to the next.
const snapshotEvery = 3
