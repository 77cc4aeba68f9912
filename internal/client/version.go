package client

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"streamer/internal/events"
)

// Build returns the version, the commit and the Go release of this program, as the Go
// toolchain recorded them, a line for each.
func Build() string {
	commit, modified := "unknown", "" // if it was not built from a repository
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", modified"
			}
		}
	}
	return fmt.Sprintf("streamer %s\ncommit   %s%s\ngo       %s %s/%s\nschema   %d\n", Version(), commit, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH, events.SchemaVersion)
}

// Version returns the version of this program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]*)?$`)

// Semantic returns a version in the form that NATS services require. It returns
// 0.0.0 for a build that is no release.
func Semantic(version string) string {
	if v := strings.TrimPrefix(version, "v"); semver.MatchString(v) {
		return v
	}
	return "0.0.0"
}
