//go:build !campaigns

package gateway

import (
	"net/http"
	"testing"
)

// Campaigns validate with another implementation of OpenAPI, too.

func validateAnswer(testing.TB, *http.Request, *exchange, string) []string { return nil }

func validateRequest(testing.TB, *http.Request, string) []string { return nil }
