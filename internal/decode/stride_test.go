package decode

import "streamer/test/testkit"

// stride is the factor by which tests that try many places try fewer of them.
var stride = testkit.Stride(8)
