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

// ParseOptions reads options from JSON; a field or a word that does not exist
// is an error that names it and what there is. Empty text gives the defaults.
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
		return Options{}, fmt.Errorf("patch: options: something follows the JSON object at byte %d", dec.InputOffset())
	}
	return o, o.Check()
}

// badOptions says in words why size bytes of JSON are no options.
func optionsError(err error, size int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the JSON object is not complete, it ends at byte %d", size)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON at byte %d: %s", e.Offset, e.Error())
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field == "" {
		return fmt.Errorf("a JSON object is wanted, not %s", article(e.Value))
	} else if ok {
		return fmt.Errorf("%s at byte %d is %s, but takes %s", e.Field, e.Offset, article(e.Value), jsonKind(e.Type))
	}
	// The library has no type for this one.
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown option %s (known: %s)", field, wordList(optionNames()))
	}
	return err
}

// optionNames are those of the options that JSON can set.
func optionNames() (names []string) {
	for field := range reflect.TypeFor[Options]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// jsonOf names what JSON a Go type takes.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of strings"
	case reflect.Map:
		return "an object with ids as its names"
	}
	return "a string"
}

func article(kind string) string {
	if strings.HasPrefix(kind, "array") || strings.HasPrefix(kind, "object") {
		return "an " + kind
	}
	return "a " + kind
}

// listed joins words as a sentence has them.
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
