package decode

import "streamer/internal/decode/wire"

// formatSet is a set of formats. Bit i stands for formats[i].
type formatSet uint32

// possible returns the formats that may claim a frame surely or perhaps, and few others,
// in one visit of its members.
func possible(f wire.Frame) formatSet {
	set := formatsByKey.keyless
	if f.Name != "" {
		set |= formatsByKey.sets[hash(f.Name)]
	}
	for m := f.Members(); m.Next(); {
		set |= formatsByKey.sets[hash(m.Key)]
	}
	return set
}

// formatsByKey is the index of the keys of formats.
var formatsByKey = newKeyIndex()

// keyIndex holds the formats that have a key, by the hash of the key. Keys with the same
// hash share a set, which is then larger than it has to be.
type keyIndex struct {
	keyless formatSet // the formats that need no key
	sets    [1 << hashBits]formatSet
}

func newKeyIndex() (x keyIndex) {
	for i := range formats {
		bit := formatSet(1) << i
		if formats[i].Keys == nil {
			x.keyless |= bit
		}
		for _, key := range formats[i].Keys {
			x.sets[hash(key)] |= bit
		}
	}
	return x
}

// hashBits is the length of a hash.
const hashBits = 11

// hash returns a hash of the length of a key and of three of its bytes.
func hash(key string) uint32 {
	if key == "" {
		return 0
	}
	n := len(key)
	ends := uint32(n)<<24 | uint32(key[0])<<16 | uint32(key[n/2])<<8 | uint32(key[n-1])
	return ends * 0x9e3779b1 >> (32 - hashBits)
}
