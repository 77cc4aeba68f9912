package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

// version prints what was built.
func version(_ context.Context, std stdio, _ []string) error {
	_, err := fmt.Fprintf(std.out, "streamer %s\n", buildVersion())
	return err
}

// buildVersion is what was built, as the Go toolchain recorded it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
