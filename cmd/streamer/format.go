package main

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/decode"
)

// formatName is a flag that takes the name of a format. A wrong one would make
// every line unusable.
type formatName string

func (f *formatName) String() string { return string(*f) }

// Set takes the name if there is such a format.
func (f *formatName) Set(s string) error {
	if names := decode.Names(); !slices.Contains(names, s) {
		return fmt.Errorf("the formats are %s", strings.Join(names, ", "))
	}
	*f = formatName(s)
	return nil
}
