package testkit

import (
	"flag"
	"strconv"
)

// AtOnce lets n parallel tests of a package run at once, unless the flag -parallel is set.
// Its caller is TestMain, where the tests wait more than they compute.
func AtOnce(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
