package index

import (
	"sync"

	"concordat"
)

// A band term consists of the band's 20 bits and a 4-bit occurrence number, in three bytes:
//
//	v>>12, v>>4, (v&15)<<4 | k
//
// k counts the blocks that contain band value v, so nearly every term has exactly one block, which Bleve's merged segments store inside
// the dictionary instead of in a posting list of about fifty bytes. The sixteenth and all later blocks share k = 15. A look-up of v reads
// the terms with k = 0 to 15.
const (
	termBytes = 3
	lastK     = 15
)

// appendTerm appends the term of band value v with occurrence number k.
func appendTerm(b []byte, v uint32, k uint8) []byte {
	return append(b, byte(v>>12), byte(v>>4), byte(v<<4)|k)
}

// counters holds the next occurrence number for each band and value, up to lastK. They last as long as the shard is open, so that numbers
// are unique across segments and a merge leaves one block per term. Assigning a number twice, for example after a deletion and a restart,
// only costs space.
type counters [concordat.Bands][1 << concordat.BandBits / 2]uint8

// next returns the occurrence number for another block with value v in the band, and counts it.
func (c *counters) next(band int, v uint32) uint8 {
	p := &c[band][v/2]
	shift := 4 * (v & 1)
	k := *p >> shift & 15
	if k < lastK {
		*p += 1 << shift
	}
	return k
}

// of sets the counters from the entries of a table. Two blocks with the same fingerprint count once, so a number may be assigned twice,
// which only costs space.
func (c *counters) of(l *level) {
	for i := range l.bands {
		for v, p := range l.bands[i].filled() {
			c[i][v/2] |= byte(min(p[1]-p[0], lastK)) << (4 * (v & 1))
		}
	}
}

// sharedCounters are the counters of a shard, for several writers at a time.
type sharedCounters struct {
	mu     sync.Mutex
	values counters // guarded by mu
}
