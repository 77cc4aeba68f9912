package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// ParseOptions reads options from JSON. An unknown field or word is an error that
// names it and lists the known ones. Empty text returns the defaults.
func ParseOptions(text []byte) (Options, error) {
	var o Options
	if len(bytes.TrimSpace(text)) == 0 {
		return o, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return Options{}, fmt.Errorf("patch: options: %w", optionsError(err, len(text)))
	}
	if _, err := dec.Token(); err != io.EOF {
		return Options{}, fmt.Errorf("patch: options: unexpected data after the JSON object at byte %d", dec.InputOffset())
	}
	return o, o.Check()
}

func optionsError(err error, size int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the JSON object is incomplete: it ends at byte %d", size)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON at byte %d: %s", e.Offset-1, e.Error())
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field == "" {
		return fmt.Errorf("expected a JSON object, got %s", article(e.Value))
	} else if ok {
		return fmt.Errorf("%s at byte %d is %s, must be %s", e.Field, e.Offset, article(e.Value), jsonKind(e.Type))
	}
	// encoding/json has no error type for an unknown field.
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown option %s (known: %s)", field, wordList(optionNames()))
	}
	return err
}

func optionNames() (names []string) {
	for field := range reflect.TypeFor[Options]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of strings"
	case reflect.Map:
		return "an object keyed by call id"
	}
	return "a string"
}

func article(kind string) string {
	if strings.HasPrefix(kind, "array") || strings.HasPrefix(kind, "object") {
		return "an " + kind
	}
	return "a " + kind
}

func wordList[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
