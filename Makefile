# build   the program, in bin/streamer
# test    the tests, with a few cases of each campaign
# campaigns the tests with whole campaigns; .ci/run also uses the race detector
# lint    vet and golangci-lint, whose version is in .ci/run
# bench   throughput, latency, memory and recovery
# demo    a server that plays recorded sessions
# release the files of a release from HEAD, in dist

.PHONY: build test campaigns lint bench demo release

build:
	go build -o bin/streamer ./cmd/streamer

test:
	go test ./...

campaigns:
	STREAMER_CAMPAIGNS=1 go test -tags campaigns -timeout 20m ./...

lint:
	go vet ./...
	golangci-lint run ./...

bench:
	go run ./cmd/streamer bench

demo:
	go run ./cmd/streamer demo

release:
	go run ./scripts/release
