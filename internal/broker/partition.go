package broker

import "hash/fnv"

// Partition returns the partition of a session's token. It is that of the server's
// partition(P,1) in the stream's subject transform.
func (b *Broker) Partition(token string) int { return partition(token, b.partitions) }

func partition(token string, of int) int {
	h := fnv.New32a()
	h.Write([]byte(token))
	return int(h.Sum32() % uint32(of))
}
