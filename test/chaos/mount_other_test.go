//go:build !linux

package chaos

import (
	"errors"
	"testing"
)

func smallDisk(*testing.T, string) bool { return false }

func fillUp(string) (func() error, error) { return nil, errors.New("no such disk") }
