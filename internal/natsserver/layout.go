package natsserver

// streamInputs is the stream of inputs, the only one that cannot be written again.
const streamInputs = "LLM"

// buckets returns the streams of which every write replaces a message.
func buckets() []string {
	return []string{"KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER"}
}

// derived returns the streams, without the buckets, that can be written again from the
// inputs.
func derived() []string { return []string{"STREAMER_BLOBS", "TOOLCALLS"} }
