//go:build !linux

package chaos

import (
	"errors"
	"testing"
)

const roomy = 8 << 30

func smallDisk(*testing.T, string) bool { return false }

func fillUp(string) (func() error, error) { return nil, errors.New("no such disk") }

func resize(string, int64) error { return errors.New("no such disk") }
