#!/bin/bash
# Guess: Message.Accumulate of anthropic-sdk-go returns an error, or keeps the raw text, when the
#   input_json_delta events of a tool_use block add up to text that is no JSON.
# Seen (v1.84.0): no error at any event. The accumulated block has the broken text nowhere: after the block's
#   stop its Input is {}, exactly as for a tool that was called without arguments.
# Why it matters: a loop that runs the accumulated calls runs the tool with no arguments in place of reporting
#   them to the model; who follows the stream sees the broken text, and both are right about different things.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
go mod init check >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go"
)

func main() {
	var m anthropic.Message
	failed := false
	for _, line := range []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"find","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Bonn\""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":",]"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	} {
		var e anthropic.MessageStreamEventUnion
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		err := m.Accumulate(e)
		failed = failed || err != nil
		input := "-"
		if len(m.Content) > 0 {
			input = string(m.Content[0].Input)
		}
		fmt.Printf("%-20s error: %v  input: %s\n", e.Type, err, input)
	}
	if failed || string(m.Content[0].Input) != "{}" {
		os.Exit(1)
	}
}
GO
go get github.com/anthropics/anthropic-sdk-go@v1.84.0 >/dev/null 2>&1
go list -m github.com/anthropics/anthropic-sdk-go
go run .
