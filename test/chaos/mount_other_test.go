//go:build !linux

package chaos

import (
	"errors"
	"testing"
)

// Only Linux has disks of limited size here.

const roomy = 8 << 30

func smallDisk(*testing.T, string) bool { return false }

func fillUp(string) (func() error, error) { return nil, errors.ErrUnsupported }

func resize(string, int64) error { return errors.ErrUnsupported }
