// Package docs embeds the machine-readable descriptions of this directory.
package docs

import _ "embed" // for the files

// OpenAPI is the content of openapi.json: the HTTP interface. It refers to EventSchema
// as events.schema.json, relative to its own address.
//
//go:embed openapi.json
var OpenAPI []byte

// EventSchema is the content of events.schema.json: the JSON Schema of an event.
//
//go:embed events.schema.json
var EventSchema []byte
