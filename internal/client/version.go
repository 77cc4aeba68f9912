package client

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"streamer/internal/events"
)

// Build describes this program.
type Build struct {
	Version  string
	Commit   string // "unknown" if it was not built from a repository
	Modified bool   // the source differs from the commit
	Go       string
	Platform string
}

// ReadBuild returns the description that the Go toolchain recorded.
func ReadBuild() Build {
	b := Build{Version: Version(), Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the description in one line for each part.
func (b Build) String() string {
	commit := b.Commit
	if b.Modified {
		commit += ", modified"
	}
	return fmt.Sprintf("streamer %s\ncommit   %s\ngo       %s %s\nschema   %d\n", b.Version, commit, b.Go, b.Platform, events.SchemaVersion)
}

// Version returns the version of this program, as the Go toolchain recorded it.
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
