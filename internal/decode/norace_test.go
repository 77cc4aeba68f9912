//go:build !race

package decode

// stride is the factor by which tests that try many places try fewer of them.
const stride = 1
