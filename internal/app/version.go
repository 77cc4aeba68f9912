package app

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Version returns the version of this program, as the Go toolchain recorded it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]*)?$`)

// semantic returns a version in the form that NATS services require. It returns
// 0.0.0 for a build that is no release.
func semantic(version string) string {
	if v := strings.TrimPrefix(version, "v"); semver.MatchString(v) {
		return v
	}
	return "0.0.0"
}
