package index

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"concordat"
)

// occurrence identifies a sentence by an index into view.docs and the sentence's ordinal in the document.
type occurrence struct{ doc, ordinal uint32 }

// level is an immutable table of many sentences. Identical fingerprints form one entry with a list of occurrences. Entries are ordered by
// the value of band 0. Fingerprints themselves are not stored, because a band's bucket and the remaining bits stored in it form the whole
// fingerprint.
type level struct {
	// first holds the occurrence of each entry or, if it has several, their position: ordinal is many plus their number, and doc their
	// position in more.
	first     []occurrence
	more      []occurrence // in order within each entry
	sentences int          // total number of occurrences
	bands     [concordat.Bands]band
}

// many exceeds every ordinal, because a document has at most maxSentences sentences.
const many = 1 << 31

// occs returns the occurrences of an entry, in order, because later documents have higher slots.
func (l *level) occs(entry uint32) []occurrence {
	o := l.first[entry]
	if o.ordinal&many == 0 {
		return l.first[entry : entry+1]
	}
	return l.more[o.doc:][:o.ordinal&^many]
}

// all yields each entry and its fingerprint, in order.
func (l *level) all() iter.Seq2[uint32, concordat.Fingerprint] {
	return func(yield func(uint32, concordat.Fingerprint) bool) {
		b := &l.bands[0]
		for v, p := range b.filled() {
			for lo, hi := p[0], p[1]; lo < hi; lo++ {
				sig, ext := b.rec(lo)
				if !yield(lo, whole(0, v, sig, ext)) {
					return
				}
			}
		}
	}
}

// band finds entries by the value of one band. Entries are ordered by that value; the other 80 bits of each are stored contiguously, so
// that scanning a bucket touches one or two cache lines.
type band struct {
	groups []group      // one per value of the upper 16 bits
	big    [][17]uint32 // bucket starts, and the end of the last, of groups that need them
	recs   []byte       // the other 80 bits of each entry, recBytes long, little-endian
	ids    []uint32     // entry at each position; nil in band 0, where entry and position are equal
}

// group holds the positions of the buckets of 16 neighbouring values: bucket k ends at base+ends[k] and begins where the previous one
// ends. In groups of more than bigGroup entries, ends[15] is escape, and base is an index into big. A group takes 20 bytes instead of 64.
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

// rest returns the 80 bits of f outside the band, in whole nibbles.
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

// rec returns what rest returned for the entry at position p.
func (b *band) rec(p uint32) (sig uint64, ext uint16) {
	r := b.recs[recBytes*int(p):][:recBytes]
	return binary.LittleEndian.Uint64(r), binary.LittleEndian.Uint16(r[8:])
}

// whole returns the fingerprint with band value v and rest sig and ext; it also works for differences of fingerprints.
func whole(band int, v uint32, sig uint64, ext uint16) concordat.Fingerprint {
	const mask = values - 1
	low, fourth := sig&(1<<60-1), sig>>60|uint64(ext)<<4
	switch band {
	case 0:
		return concordat.Fingerprint{low<<20&(1<<60-1) | uint64(v), low>>40 | fourth<<20}
	case 1:
		return concordat.Fingerprint{low&mask | uint64(v)<<20 | low>>20&mask<<40, low>>40 | fourth<<20}
	case 2:
		return concordat.Fingerprint{low&(1<<40-1) | uint64(v)<<40, low>>40 | fourth<<20}
	case 3:
		return concordat.Fingerprint{low, uint64(v) | fourth<<20}
	default:
		return concordat.Fingerprint{low, fourth | uint64(v)<<20}
	}
}

// newLevel returns a table of the sentences and retains neither slice. fps and occs correspond to each other, in any order. It takes
// linear time, except for sorting fingerprints that share a band. While it uses the slices, it needs 64 bytes per sentence in addition to
// them; afterwards, if the caller drops them, it needs about 115 in all.
func newLevel(fps []concordat.Fingerprint, occs []occurrence) *level {
	l := new(level)
	entries := l.collapse(fps, occs)
	if len(entries) >= collectFrom {
		runtime.GC() // otherwise both halves of the work would occupy memory at the same time
	}
	parts := make([]part, len(entries))
	for i := range l.bands {
		l.bands[i].build(i, entries, parts)
	}
	return l
}

// byBand fills pairs with the values of one band and their indexes in fps, ordered by value and then by index.
func byBand(fps []concordat.Fingerprint, band int, pairs, scratch []termDoc) []termDoc {
	for i, f := range fps {
		pairs[i] = termDoc{f.Band(band), uint32(i)}
	}
	return sortTerms(pairs, scratch, concordat.BandBits)
}

// collectFrom is the number of sentences at which a level is worth a garbage collection.
const collectFrom = 1 << 20

// collapse fills first and more, and returns the distinct fingerprints ordered by band 0.
func (l *level) collapse(fps []concordat.Fingerprint, occs []occurrence) []concordat.Fingerprint {
	order := byBand(fps, 0, make([]termDoc, len(fps)), make([]termDoc, len(fps)))
	entries := make([]concordat.Fingerprint, 0, len(fps))
	l.sentences = len(fps)
	l.first = make([]occurrence, 0, len(fps))
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].term == order[0].term {
			n++
		}
		bucket := order[:n]
		if n > 1 {
			slices.SortFunc(bucket, func(a, b termDoc) int {
				x, y := occs[a.doc], occs[b.doc]
				return cmp.Or(compareFingerprints(fps[a.doc], fps[b.doc]), cmp.Compare(x.doc, y.doc), cmp.Compare(x.ordinal, y.ordinal))
			})
		}
		for len(bucket) > 0 {
			f := fps[bucket[0].doc]
			same := 1
			for same < len(bucket) && fps[bucket[same].doc] == f {
				same++
			}
			entries = append(entries, f)
			if same == 1 {
				l.first = append(l.first, occs[bucket[0].doc])
			} else {
				l.first = append(l.first, occurrence{uint32(len(l.more)), many | uint32(same)})
				for _, p := range bucket[:same] {
					l.more = append(l.more, occs[p.doc])
				}
			}
			bucket = bucket[same:]
		}
		order = order[n:]
	}
	if len(entries) < len(fps)*3/4 {
		l.first = slices.Clone(l.first)
	}
	l.more = slices.Clip(l.more)
	return entries
}

func compareFingerprints(a, b concordat.Fingerprint) int {
	if a[1] != b[1] {
		return cmp.Compare(a[1], b[1])
	}
	return cmp.Compare(a[0], b[0])
}

// part is an entry being moved to its place in a band.
type part struct {
	f  concordat.Fingerprint
	id uint32
}

// partBits is the number of upper bits of a value that determine its part of a band; the other bits determine the place within the part.
const partBits = concordat.BandBits / 2

// build fills b, the table of band i. It distributes entries to parts by the upper half of their value, then distributes each part, which
// fits into the second-level cache, by the lower half. Sorting indexes and then fetching the entries would wait for memory at each entry.
// parts must be as long as entries.
func (b *band) build(i int, entries []concordat.Fingerprint, parts []part) {
	var starts, next [1<<partBits + 1]uint32
	for _, f := range entries {
		starts[f.Band(i)>>partBits+1]++
	}
	for p := 1; p < len(starts); p++ {
		starts[p] += starts[p-1]
	}
	next = starts
	for id, f := range entries {
		at := &next[f.Band(i)>>partBits]
		parts[*at] = part{f, uint32(id)}
		*at++
	}
	b.groups = huge[group](groups)
	b.recs = huge[byte](recBytes * len(entries))
	if i > 0 {
		b.ids = huge[uint32](len(entries))
	}
	for p := range uint32(1 << partBits) {
		b.place(i, p, parts[starts[p]:starts[p+1]], starts[p])
	}
}

// place fills the section of part p in band i, starting at position base.
func (b *band) place(i int, p uint32, parts []part, base uint32) {
	const mask = 1<<partBits - 1
	if len(parts) == 0 { // most parts of a small table are empty; if nothing precedes them, their memory is zero and remains untouched
		if base > 0 {
			for g := range uint32(1 << (partBits - 4)) {
				b.groups[p<<(partBits-4)|g].base = base
			}
		}
		return
	}
	var begins, next [1<<partBits + 1]uint32 // per value
	for k := range parts {
		begins[parts[k].f.Band(i)&mask+1]++
	}
	begins[0] = base
	for v := 1; v < len(begins); v++ {
		begins[v] += begins[v-1]
	}
	next = begins
	for k := range parts {
		v := &next[parts[k].f.Band(i)&mask]
		sig, ext := rest(parts[k].f, i)
		r := b.recs[recBytes*int(*v):][:recBytes]
		binary.LittleEndian.PutUint64(r, sig)
		binary.LittleEndian.PutUint16(r[8:], ext)
		if i > 0 {
			b.ids[*v] = parts[k].id
		}
		*v++
	}
	for g := range uint32(1 << (partBits - 4)) {
		b.group(p<<(partBits-4)|g, (*[17]uint32)(begins[16*g:]))
	}
}

// group fills group g, whose buckets begin at begins[0] to begins[15]; the last ends at begins[16].
func (b *band) group(g uint32, begins *[17]uint32) {
	out := &b.groups[g]
	if begins[16]-begins[0] > bigGroup {
		out.base, out.ends[15] = uint32(len(b.big)), escape
		b.big = append(b.big, *begins)
		return
	}
	out.base = begins[0]
	for k := range out.ends {
		out.ends[k] = uint8(begins[k+1] - begins[0])
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

// filled yields each value that has entries, in order, with their positions [lo, hi).
func (b *band) filled() iter.Seq2[uint32, [2]uint32] {
	return func(yield func(uint32, [2]uint32) bool) {
		for g := range b.groups {
			if b.groups[g].ends[15] == 0 {
				continue
			}
			for v := uint32(g) << 4; v < uint32(g+1)<<4; v++ {
				if lo, hi := b.bucket(v); lo < hi && !yield(v, [2]uint32{lo, hi}) {
					return
				}
			}
		}
	}
}

// sixteen returns the positions of the entries whose values have the upper 16 bits of v.
func (b *band) sixteen(v uint32) (lo, hi uint32) {
	g := &b.groups[v>>4]
	if g.ends[15] == escape {
		return b.big[g.base][0], b.big[g.base][16]
	}
	return g.base, g.base + uint32(g.ends[15])
}

// value returns the value whose bucket includes position p; v has the same upper 16 bits.
func (b *band) value(p, v uint32) uint32 {
	v &^= 15
	g := &b.groups[v>>4]
	if g.ends[15] == escape {
		for ends := &b.big[g.base]; p >= ends[v&15+1]; {
			v++
		}
		return v
	}
	for p -= g.base; p >= uint32(g.ends[v&15]); {
		v++
	}
	return v
}

// id returns the entry at position p.
func (b *band) id(p uint32) uint32 {
	if b.ids == nil {
		return p
	}
	return b.ids[p]
}

// bytes returns the memory use of l.
func (l *level) bytes() int64 {
	n := (cap(l.first) + cap(l.more)) * int(unsafe.Sizeof(occurrence{}))
	for i := range l.bands {
		b := &l.bands[i]
		n += len(b.groups)*int(unsafe.Sizeof(group{})) + len(b.big)*68 + cap(b.recs) + cap(b.ids)*4
	}
	return int64(n)
}

// reaches reports whether the probe finds g from f, that is, whether some band is equal or differs in one nibble.
func reaches(p concordat.Probe, f, g concordat.Fingerprint) bool {
	for i := range concordat.Bands {
		if bandReaches(p, f.Band(i)^g.Band(i)) {
			return true
		}
	}
	return false
}

// bandReaches reports whether the probe finds a band that differs in the bits x.
func bandReaches(p concordat.Probe, x uint32) bool {
	if x == 0 || p == concordat.ProbeExact {
		return x == 0
	}
	first := uint32(15) << (bits.TrailingZeros32(x) &^ 3)
	return x&^first == 0
}
