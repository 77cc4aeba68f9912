#!/usr/bin/env bash
# Guess: json.Marshal of a responses.Response of openai-go writes the arguments of a function
# call as the API sends them, a string.
# Seen (openai-go v3.99.0): the member is an object with the same text twice,
# {"OfString":"{\"a\":1}","OfResponseToolSearchCallArguments":"{\"a\":1}"}, and the item has
# an empty member "input" and an "error" object of empty members beside it. RawJSON() has the
# JSON of the API.
# Why it matters: a reader of such logs that expects a string finds no arguments, and a call
# with arguments looks like one without any; "error" is present in calls that succeeded.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > go.mod <<'MOD'
module finding

go 1.26

require github.com/openai/openai-go/v3 v3.99.0
MOD
cat > main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/responses"
)

func main() {
	var r responses.Response
	text := `{"id":"resp_1","object":"response","status":"completed","output":[{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}]}`
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		panic(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var out struct{ Output []map[string]json.RawMessage }
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	fmt.Printf("arguments=%s error=%s\n", out.Output[0]["arguments"], out.Output[0]["error"])
}
GO
GOFLAGS=-mod=mod go mod tidy > /dev/null 2>&1
go list -m github.com/openai/openai-go/v3
got=$(go run .)
echo "$got"
want='arguments={"OfString":"{\"a\":1}","OfResponseToolSearchCallArguments":"{\"a\":1}"} error={"OfString":""'
[[ "$got" == "$want"* ]]
