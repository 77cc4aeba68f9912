package patch_test

import "streamer/test/testkit"

// stride is the factor by which tests that try many inputs try fewer of them.
var stride = testkit.Stride(4)
