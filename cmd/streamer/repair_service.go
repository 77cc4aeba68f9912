package main

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"streamer/internal/broker"
	"streamer/internal/repair"
)

// repairService answers histories on NATS, as POST /v1/repair does.
func repairService(service *repair.Service) broker.Service {
	return broker.Service{
		Name: "streamer-repair", Endpoint: "repair", Subject: "streamer.repair",
		Version:     semantic(buildVersion()),
		Description: "Repairs histories with unanswered tool calls",
		Answer: func(ctx context.Context, request []byte, limit int) ([]byte, error) {
			leave, err := service.Enter(ctx, len(request))
			if err != nil {
				return nil, err
			}
			defer leave()
			answer, err := service.Within(ctx, request, limit)
			return answer.Bytes(), err
		},
		Status: func(err error) (int, string) {
			if refused, ok := errors.AsType[*repair.Refusal](err); ok {
				return refused.Status, refused.Text
			}
			return 503, "the event log cannot be read just now; ask again"
		},
	}
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]*)?$`)

// semantic gives a version as services are to have it; that of a build
// outside a release is 0.0.0.
func semantic(version string) string {
	if v := strings.TrimPrefix(version, "v"); semver.MatchString(v) {
		return v
	}
	return "0.0.0"
}
