# build   the program, in bin/streamer
# test    the tests; .ci/run also uses the race detector
# lint    vet and golangci-lint, whose version is in .ci/run
# bench   throughput, latency, memory and recovery
# demo    a server that plays recorded sessions
# release the files of a release from HEAD, in dist

.PHONY: build test lint bench demo release

build:
	go build -o bin/streamer ./cmd/streamer

test:
	go test ./...

lint:
	go vet ./...
	golangci-lint run ./...

bench:
	go run ./cmd/streamer bench

demo:
	go run ./cmd/streamer demo

release:
	go run ./scripts/release
