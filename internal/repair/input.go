package repair

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"streamer/internal/patch"
)

// Read reads a JSON text of at most limit bytes. It removes the byte order mark
// that some editors write at the beginning of a file.
func Read(in io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// ParseOptions parses options from JSON. The fields Late, Provider, Profile, Lang
// and Output of override replace those of the JSON if they are set.
func ParseOptions(text []byte, override patch.Options) (patch.Options, error) {
	o, err := patch.ParseOptions(text)
	if err == nil {
		for _, f := range []struct{ to, from *string }{
			{&o.Late, &override.Late},
			{&o.Provider, &override.Provider},
			{&o.Profile, &override.Profile},
			{&o.Lang, &override.Lang},
			{&o.Output, &override.Output},
		} {
			*f.to = cmp.Or(*f.from, *f.to)
		}
		err = o.Check()
	}
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "patch: "))
	}
	return o, err
}
