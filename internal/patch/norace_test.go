//go:build !race

package patch_test

// stride is the factor by which tests that try many inputs try fewer of them.
const stride = 1
