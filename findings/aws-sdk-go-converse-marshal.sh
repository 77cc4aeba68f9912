#!/usr/bin/env bash
# Guess: json.Marshal of what Converse and ConverseStream of aws-sdk-go-v2 return keeps the
# args of a call, and tells reasoning and its signature apart.
# Seen (bedrockruntime v1.63.13): the Input of a tool use block is {} whatever the args are,
# because a document has no exported field; a delta with reasoning and one with its signature
# are the same JSON, {"Value":{"Value":"…"}}; events have no name.
# Why it matters: a log of Converse answers made this way has calls that look as if they had no
# args. Only the events of ConverseStream keep them, as text.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > go.mod <<'MOD'
module finding

go 1.26

require github.com/aws/aws-sdk-go-v2/service/bedrockruntime v1.63.13
MOD
cat > main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

func show(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}

func main() {
	name := "f"
	show(types.ToolUseBlock{Name: &name, ToolUseId: &name, Input: document.NewLazyDocument(map[string]any{"a": 1})})
	show(&types.ContentBlockDeltaMemberReasoningContent{Value: &types.ReasoningContentBlockDeltaMemberText{Value: "x"}})
	show(&types.ContentBlockDeltaMemberReasoningContent{Value: &types.ReasoningContentBlockDeltaMemberSignature{Value: "x"}})
}
GO
GOFLAGS=-mod=mod go mod tidy > /dev/null 2>&1
go list -m github.com/aws/aws-sdk-go-v2/service/bedrockruntime
got=$(go run .)
echo "$got"
[[ "$got" == '{"Input":{},"Name":"f","ToolUseId":"f","Type":""}
{"Value":{"Value":"x"}}
{"Value":{"Value":"x"}}' ]]
