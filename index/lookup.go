package index

import (
	"encoding/binary"
	"math/bits"

	"concordat"
)

// found is an entry near a query fingerprint.
type found struct {
	fp       concordat.Fingerprint
	level    int    // index into view.levels, or -1 for a fresh sentence
	entry    uint32 // index into the level or the fresh sentences
	band     int    // before resolve, entry is a position in this band of the level
	distance int    // in bits
}

// span is a range of positions of one band to scan.
type span struct {
	lo, hi  uint32
	bits    int32  // number of differing bits in the band itself; -1 if it varies by entry
	differs uint32 // those bits
}

// bandSpans is the maximum number of spans of one band with ProbeOne: sixteen for the neighbouring buckets, if the cap separates them,
// fifteen for each of the other four nibbles, and one slot for discarded writes.
const bandSpans = 16 + 4*15 + 1

// lookup holds the buffers for one goroutine's look-ups.
type lookup struct {
	probe  concordat.Probe
	most   int // maximum distance in bits
	hashes int // if above 0, maximum number of differing hashes; replaces most
	cap    uint32
	out    []found
	capped int
	// candidates counts the entries read.
	candidates int

	spans   [concordat.Bands][bandSpans]span
	used    [concordat.Bands]int
	flights [stages]flight
	touch   byte // prevents the compiler from removing loads that only warm the cache
}

// search appends to k.out the entries of l that the probe reaches from f within k.most bits, not yet resolved.
//
// Because look-ups wait for memory rather than arithmetic, search touches all groups, then computes the spans, then touches both ends of
// each span, and then scans them all. The loads of a stage are independent of each other, so the processor can have many in progress at
// once.
func (k *lookup) search(l *level, f concordat.Fingerprint, number int) {
	if len(l.first) == 0 {
		return
	}
	if k.probe == concordat.ProbeOne {
		for i := range l.bands {
			k.touch += touchGroups(l.bands[i].groups, f.Band(i)>>4)
		}
	}
	for i := range l.bands {
		if k.probe == concordat.ProbeOne {
			k.used[i] = k.nearSpans(&l.bands[i], f.Band(i), k.spans[i][:0:cap(k.spans[i])])
		} else {
			k.used[i] = k.exactSpan(&l.bands[i], f.Band(i), k.spans[i][:0])
		}
	}
	for i := range l.bands {
		k.touch += touchSpans(l.bands[i].recs, k.spans[i][:k.used[i]])
	}
	for i := range l.bands {
		k.scan(l, i, f, number)
	}
}

func (k *lookup) exactSpan(b *band, v uint32, spans []span) int {
	lo, hi := b.bucket(v)
	if lo == hi {
		return 0
	}
	return len(append(spans, span{lo, k.limit(lo, hi), 0, 0}))
}

// limit truncates a bucket to the cap.
func (k *lookup) limit(lo, hi uint32) uint32 {
	if hi-lo > k.cap {
		k.capped++
		return lo + k.cap
	}
	return hi
}

// nearSpans fills spans with the non-empty ranges of a band to scan, and returns their number.
func (k *lookup) nearSpans(b *band, v uint32, spans []span) int {
	spans = spans[:cap(spans)]
	n := 0
	if lo, hi := b.sixteen(v); hi-lo <= k.cap {
		spans[0] = span{lo, hi, -1, 0}
		n = int((lo - hi) >> 31) // 1 unless the span is empty
	} else {
		for x := range uint32(16) {
			if lo, hi := b.bucket(v ^ x); lo < hi {
				spans[n] = span{lo, k.limit(lo, hi), int32(bits.OnesCount32(x)), x}
				n++
			}
		}
	}
	last := v & 15
	before := (last - 1) & 15
	keep := uint32(1)
	if last == 0 {
		keep = 0 // bucket 0 begins at the base
	}
	for shift := 4; shift < concordat.BandBits; shift += 4 {
		for x := uint32(1); x < 16; x++ {
			g := &b.groups[(v^x<<shift)>>4]
			var lo, hi uint32
			if g.ends[15] != escape {
				lo = g.base + uint32(g.ends[before])*keep
				hi = g.base + uint32(g.ends[last])
			} else {
				lo, hi = b.bucket(v ^ x<<shift)
			}
			if hi-lo > k.cap {
				hi = k.limit(lo, hi)
			}
			spans[n] = span{lo, hi, int32(bits.OnesCount32(x)), x << shift}
			n += int((lo - hi) >> 31)
		}
	}
	return n
}

// scan scans the spans of band i and reports the entries within k.most bits that no earlier band has reported.
func (k *lookup) scan(l *level, i int, f concordat.Fingerprint, number int) {
	if k.hashes > 0 {
		k.scanHashes(l, i, f, number)
		return
	}
	b := &l.bands[i]
	sig, ext := rest(f, i)
	for _, s := range k.spans[i][:k.used[i]] {
		most := k.most - int(max(s.bits, 0))
		k.candidates += int(s.hi - s.lo)
		recs := b.recs[recBytes*int(s.lo) : recBytes*int(s.hi)]
		for p := s.lo; len(recs) >= recBytes; p, recs = p+1, recs[recBytes:] {
			x := binary.LittleEndian.Uint64(recs) ^ sig
			d := bits.OnesCount64(x)
			if d > most {
				continue
			}
			y := binary.LittleEndian.Uint16(recs[8:]) ^ ext
			if d += bits.OnesCount16(y); d <= most {
				k.verify(b, i, s, p, f, x, y, number)
			}
		}
	}
}

// scanHashes is like scan but counts differing hashes. rest does not split hashes, because bands end where hashes end.
func (k *lookup) scanHashes(l *level, i int, f concordat.Fingerprint, number int) {
	b := &l.bands[i]
	sig, ext := rest(f, i)
	for _, s := range k.spans[i][:k.used[i]] {
		most := k.hashes
		if s.bits > 0 {
			most--
		}
		k.candidates += int(s.hi - s.lo)
		recs := b.recs[recBytes*int(s.lo) : recBytes*int(s.hi)]
		for p := s.lo; len(recs) >= recBytes; p, recs = p+1, recs[recBytes:] {
			x := binary.LittleEndian.Uint64(recs) ^ sig
			d := differing(x)
			if d > most {
				continue
			}
			y := binary.LittleEndian.Uint16(recs[8:]) ^ ext
			if d+differing(uint64(y)) <= most {
				k.verify(b, i, s, p, f, x, y, number)
			}
		}
	}
}

// differing returns the number of non-zero nibbles of x.
func differing(x uint64) int {
	x |= x >> 2
	x |= x >> 1
	return bits.OnesCount64(x & 0x1111111111111111)
}

// within reports whether a difference of the given numbers of bits and hashes is small enough. If k.hashes is above 0, only hashes count.
func within(distance, differing, most, hashes int) bool {
	if hashes > 0 {
		return differing <= hashes
	}
	return distance <= most
}

// verify reports the entry at position p of band i unless it is too far away or an earlier band reaches it. x and y are the difference
// from f in the form of rest; with the bucket, they form the whole difference, so verify reads nothing else.
func (k *lookup) verify(b *band, i int, s span, p uint32, f concordat.Fingerprint, x uint64, y uint16, number int) {
	for j := range min(i, 3) {
		if bandReaches(k.probe, uint32(x>>(concordat.BandBits*j))&(values-1)) {
			return
		}
	}
	if i == 4 && bandReaches(k.probe, uint32(x>>60)|uint32(y)<<4) {
		return
	}
	v := s.differs
	if s.bits < 0 {
		v = f.Band(i) ^ b.value(p, f.Band(i))
	}
	diff := whole(i, v, x, y)
	d := bits.OnesCount64(diff[0]) + bits.OnesCount64(diff[1])
	if !within(d, diff.NibbleDistance(concordat.Fingerprint{}), k.most, k.hashes) {
		return
	}
	k.out = append(k.out, found{concordat.Fingerprint{f[0] ^ diff[0], f[1] ^ diff[1]}, number, p, i, d})
}

// resolve replaces the band positions reported by search with entries. It handles many at once, so that their loads overlap.
func (k *lookup) resolve(out []found, levels []*level) {
	for n := range out {
		if f := &out[n]; f.level >= 0 {
			f.entry = levels[f.level].bands[f.band].id(f.entry)
			f.band = 0
		}
	}
}

// all reports the fresh sentences that the probe reaches within k.most bits. It compares every one, at about 1 ns each, which is cheaper
// than a table for up to several thousand.
func (k *lookup) all(fps []concordat.Fingerprint, f concordat.Fingerprint) {
	for i, g := range fps {
		if d := f.Distance(g); within(d, f.NibbleDistance(g), k.most, k.hashes) && reaches(k.probe, f, g) {
			k.out = append(k.out, found{g, -1, uint32(i), 0, d})
		}
	}
}
