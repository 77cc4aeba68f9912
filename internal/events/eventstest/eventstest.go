// Package eventstest validates events in tests against docs/events.schema.json, with a
// validator of JSON Schema.
package eventstest

import (
	"bytes"
	"testing"

	"streamer/docs"
	"streamer/internal/events"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the published schema of events.
type Schema struct{ schema *jsonschema.Schema }

// ReadSchema returns the schema.
func ReadSchema(t testing.TB) Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(docs.EventSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("events.schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return Schema{schema}
}

// Check returns an error if body is not that of an event of a type. A synthetic message
// is not one.
func (s Schema) Check(kind events.Type, body []byte) error {
	if kind == events.Synthetic {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return s.schema.Validate(value)
}
