//go:build !linux

package chaos

import "testing"

func smallDisk(*testing.T, string) bool { return false }
