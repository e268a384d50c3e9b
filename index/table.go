package index

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"concordat"
)

// occurrence is a sentence: an index into view.docs and the sentence's ordinal in the document.
type occurrence struct{ doc, ordinal uint32 }

// level is a table over many sentences that never changes. Identical fingerprints are one entry
// with a list of occurrences. Entries are sorted by band 0.
type level struct {
	entries []concordat.Fingerprint
	starts  []uint32     // occurrences of entry i: occs[starts[i]:starts[i+1]]
	occs    []occurrence // of one entry: in input order
	bands   [concordat.Bands]band
}

// band finds entries by the value of one band. Entries stand in order of that value; for each,
// the other 80 bits are kept beside it, so that scanning a bucket touches one or two lines of
// memory and an entry's fingerprint is read only if it matches.
type band struct {
	groups []group      // one for each value of the upper 16 bits
	big    [][17]uint32 // start of each bucket, and the end of the last, of groups that need it
	recs   []byte       // recBytes an entry: the other 80 bits, little-endian
	ids    []uint32     // index into entries; nil in band 0, where it would be the position
}

// group says where the 16 buckets of neighbouring values stand: bucket k ends at base+ends[k] and
// begins where the one before ends. In a group of more than bigGroup entries ends[15] is escape
// and base is an index into big. 20 bytes for 16 buckets instead of 64.
type group struct {
	base uint32
	ends [16]uint8
}

const (
	recBytes = 10
	escape   = 255
	bigGroup = 254
	groups   = 1 << (concordat.BandBits - 4)
	values   = 1 << concordat.BandBits
)

// rest returns the 80 bits of f outside the band, nibbles whole.
func rest(f concordat.Fingerprint, band int) (sig uint64, ext uint16) {
	var b [4]uint64
	n := 0
	for i := range concordat.Bands {
		if i != band {
			b[n] = uint64(f.Band(i))
			n++
		}
	}
	return b[0] | b[1]<<20 | b[2]<<40 | b[3]<<60, uint16(b[3] >> 4)
}

// newLevel returns a table over the sentences; it keeps neither slice. fps and occs pair up. Time
// is linear, but for the sorting of fingerprints that share a band.
func newLevel(fps []concordat.Fingerprint, occs []occurrence) *level {
	l := new(level)
	pairs, scratch := make([]termDoc, len(fps)), make([]termDoc, len(fps))
	l.collapse(fps, occs, pairs, scratch)
	pairs, scratch = pairs[:len(l.entries)], scratch[:len(l.entries)]
	for i := range l.bands {
		l.bands[i].build(i, l.entries, pairs, scratch)
	}
	return l
}

// byBand fills pairs with the values of one band and the indexes of fps, in order of both.
func byBand(fps []concordat.Fingerprint, band int, pairs, scratch []termDoc) []termDoc {
	for i, f := range fps {
		pairs[i] = termDoc{f.Band(band), uint32(i)}
	}
	return sortTerms(pairs, scratch, concordat.BandBits)
}

// collapse fills entries, starts and occs. pairs and scratch are as long as fps.
func (l *level) collapse(fps []concordat.Fingerprint, occs []occurrence, pairs, scratch []termDoc) {
	order := byBand(fps, 0, pairs, scratch)
	l.entries = make([]concordat.Fingerprint, 0, len(fps))
	l.starts = make([]uint32, 0, len(fps)+1)
	l.occs = make([]occurrence, 0, len(fps))
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].term == order[0].term {
			n++
		}
		bucket := order[:n]
		if n > 1 {
			slices.SortFunc(bucket, func(a, b termDoc) int {
				return cmp.Or(compareFingerprints(fps[a.doc], fps[b.doc]), cmp.Compare(a.doc, b.doc))
			})
		}
		for _, p := range bucket {
			f := fps[p.doc]
			if last := len(l.entries) - 1; last < 0 || l.entries[last] != f {
				l.entries = append(l.entries, f)
				l.starts = append(l.starts, uint32(len(l.occs)))
			}
			l.occs = append(l.occs, occs[p.doc])
		}
		order = order[n:]
	}
	l.starts = append(l.starts, uint32(len(l.occs)))
	if len(l.entries) < len(fps)*3/4 {
		l.entries = slices.Clone(l.entries)
		l.starts = slices.Clone(l.starts)
	}
}

func compareFingerprints(a, b concordat.Fingerprint) int {
	if a[1] != b[1] {
		return cmp.Compare(a[1], b[1])
	}
	return cmp.Compare(a[0], b[0])
}

// build fills b, the table of band number i. pairs and scratch are as long as entries.
func (b *band) build(i int, entries []concordat.Fingerprint, pairs, scratch []termDoc) {
	order := byBand(entries, i, pairs, scratch)
	b.index(order)
	b.recs = make([]byte, 0, recBytes*len(entries))
	if i > 0 {
		b.ids = make([]uint32, len(entries))
	}
	for p, o := range order {
		sig, ext := rest(entries[o.doc], i)
		b.recs = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint64(b.recs, sig), ext)
		if i > 0 {
			b.ids[p] = o.doc
		}
	}
}

// index fills groups and big from the entries in order of value.
func (b *band) index(order []termDoc) {
	b.groups = make([]group, groups)
	p := uint32(0)
	for g := range b.groups {
		base := p
		var ends [17]uint32 // relative to base; ends[k] is where bucket k begins
		for int(p) < len(order) && order[p].term>>4 == uint32(g) {
			p++
			ends[order[p-1].term&15+1] = p - base
		}
		out := &b.groups[g]
		if p == base {
			out.base = base
			continue
		}
		for k := 1; k < len(ends); k++ {
			ends[k] = max(ends[k], ends[k-1]) // empty buckets end where they begin
		}
		if p-base <= bigGroup {
			out.base = base
			for k := range out.ends {
				out.ends[k] = uint8(ends[k+1])
			}
			continue
		}
		for k := range ends {
			ends[k] += base
		}
		out.base, out.ends[15] = uint32(len(b.big)), escape
		b.big = append(b.big, ends)
	}
}

// bucket returns the positions [lo, hi) of the entries with value v.
func (b *band) bucket(v uint32) (lo, hi uint32) {
	g := &b.groups[v>>4]
	k := v & 15
	if g.ends[15] == escape {
		return b.big[g.base][k], b.big[g.base][k+1]
	}
	lo, hi = g.base, g.base+uint32(g.ends[k])
	if k > 0 {
		lo += uint32(g.ends[k-1])
	}
	return lo, hi
}

// sixteen returns the positions of the entries whose value shares the upper 16 bits of v.
func (b *band) sixteen(v uint32) (lo, hi uint32) {
	g := &b.groups[v>>4]
	if g.ends[15] == escape {
		return b.big[g.base][0], b.big[g.base][16]
	}
	return g.base, g.base + uint32(g.ends[15])
}

// id returns the entry at position p of band number i.
func (b *band) id(p uint32) uint32 {
	if b.ids == nil {
		return p
	}
	return b.ids[p]
}

// bytes returns the memory that l takes.
func (l *level) bytes() int64 {
	n := cap(l.entries)*16 + cap(l.starts)*4 + cap(l.occs)*8
	for i := range l.bands {
		b := &l.bands[i]
		n += len(b.groups)*int(unsafe.Sizeof(group{})) + len(b.big)*68 + cap(b.recs) + cap(b.ids)*4
	}
	return int64(n)
}

// reaches reports whether the probe finds g from f: some band is equal, or differs in one nibble.
func reaches(p concordat.Probe, f, g concordat.Fingerprint) bool {
	for i := range concordat.Bands {
		if bandReaches(p, f.Band(i)^g.Band(i)) {
			return true
		}
	}
	return false
}

// bandReaches reports whether a band that differs in the bits x is found by the probe.
func bandReaches(p concordat.Probe, x uint32) bool {
	if x == 0 || p == concordat.ProbeExact {
		return x == 0
	}
	first := uint32(15) << (bits.TrailingZeros32(x) &^ 3)
	return x&^first == 0
}
