//go:build race

package patch_test

// stride is the factor by which tests that try many inputs try fewer of them. The
// package starts no goroutine, and the race detector makes these tests ten times
// slower. They try all inputs without it; .ci/run does both.
const stride = 4
