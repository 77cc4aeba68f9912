//go:build race

package decode

// stride is the factor by which tests that try many places try fewer of them. The
// package starts no goroutine, and the race detector makes these tests ten times
// slower. They try all places without it; .ci/run does both.
const stride = 8
