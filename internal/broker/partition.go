package broker

import "hash/fnv"

// Partition gives the partition of a session's token: what the server's
// partition(P,1) in the stream's subject transform gives for the same token.
func (b *Broker) Partition(token string) int { return partition(token, b.partitions) }

func partition(token string, of int) int {
	h := fnv.New32a()
	h.Write([]byte(token))
	return int(h.Sum32() % uint32(of))
}
