//go:build !race

package e2e

// raceFlag builds the program as the tests are built.
const raceFlag = "-race=false"
