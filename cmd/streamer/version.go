package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

// version prints what was built, as the Go toolchain recorded it.
func version(_ context.Context, std stdio, _ []string) error {
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
	}
	_, err := fmt.Fprintf(std.out, "streamer %s\n", v)
	return err
}
