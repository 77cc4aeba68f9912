package server

import (
	"context"
	"errors"

	"streamer/internal/client"
	"streamer/internal/natsservice"
	"streamer/internal/repair"
)

// repairService returns the NATS service that answers as POST /v1/repair does.
func repairService(service *repair.Service) natsservice.Service {
	return natsservice.Service{
		Name: "streamer-repair", Version: client.Semantic(client.Version()),
		Description: "Repairs histories with unanswered tool calls",
		Endpoints: []natsservice.Endpoint{{Name: "repair", Subject: "streamer.repair", Answer: func(ctx context.Context, request []byte, limit int) ([]byte, error) {
			leave, err := service.Enter(ctx, len(request))
			if err != nil {
				return nil, err
			}
			defer leave()
			answer, err := service.Within(ctx, request, limit)
			return answer.Bytes(), err
		}}},
		Status: func(err error) (int, string) {
			if refused, ok := errors.AsType[*repair.Refusal](err); ok {
				return refused.Status, refused.Text
			}
			return 503, "the event log cannot be read just now; ask again"
		},
	}
}
