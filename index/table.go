package index

import (
	"cmp"
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
	sigs   []uint64     // 64 of the other 80 bits
	exts   []uint16     // 16 more
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
	if len(fps) > 0 {
		l.collapse(fps, occs)
	}
	count := make([]uint32, values+1)
	for i := range l.bands {
		l.bands[i].build(i, l.entries, count)
	}
	return l
}

// collapse fills entries, starts and occs.
func (l *level) collapse(fps []concordat.Fingerprint, occs []occurrence) {
	starts := make([]uint32, values+1)
	for _, f := range fps {
		starts[f.Band(0)+1]++
	}
	for i := 1; i <= values; i++ {
		starts[i] += starts[i-1]
	}
	order := make([]uint32, len(fps)) // by band 0, then input order
	next := starts[:values]
	for i, f := range fps {
		v := f.Band(0)
		order[next[v]] = uint32(i)
		next[v]++
	}
	l.entries = make([]concordat.Fingerprint, 0, len(fps))
	l.starts = make([]uint32, 0, len(fps)+1)
	l.occs = make([]occurrence, len(fps))
	start := uint32(0)
	for _, end := range next { // next[v] is where bucket v ends
		bucket := order[start:end]
		if len(bucket) > 1 {
			slices.SortFunc(bucket, func(a, b uint32) int {
				if c := compareFingerprints(fps[a], fps[b]); c != 0 {
					return c
				}
				return cmp.Compare(a, b)
			})
		}
		for i, p := range bucket {
			if i == 0 || fps[p] != fps[bucket[i-1]] {
				l.entries = append(l.entries, fps[p])
				l.starts = append(l.starts, start+uint32(i))
			}
			l.occs[start+uint32(i)] = occs[p]
		}
		start = end
	}
	l.starts = append(l.starts, start)
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

// build fills b, the table of band number i. count is scratch of values+1 words.
func (b *band) build(i int, entries []concordat.Fingerprint, count []uint32) {
	b.groups = make([]group, groups)
	if len(entries) == 0 {
		return
	}
	clear(count)
	for _, f := range entries {
		count[f.Band(i)+1]++
	}
	b.index(count)
	for v := 1; v <= values; v++ {
		count[v] += count[v-1]
	}
	b.sigs = make([]uint64, len(entries))
	b.exts = make([]uint16, len(entries))
	if i > 0 {
		b.ids = make([]uint32, len(entries))
	}
	for e, f := range entries {
		v := f.Band(i)
		p := count[v]
		count[v]++
		b.sigs[p], b.exts[p] = rest(f, i)
		if i > 0 {
			b.ids[p] = uint32(e)
		}
	}
}

// index fills groups and big from the number of entries of each value v, count[v+1].
func (b *band) index(count []uint32) {
	base := uint32(0)
	for g := range b.groups {
		c := count[g<<4+1:][:16]
		total := uint32(0)
		var ends [17]uint32
		for k, n := range c {
			total += n
			ends[k+1] = base + total
		}
		ends[0] = base
		if total > bigGroup {
			b.groups[g].base = uint32(len(b.big))
			b.groups[g].ends[15] = escape
			b.big = append(b.big, ends)
		} else {
			b.groups[g].base = base
			for k := range c {
				b.groups[g].ends[k] = uint8(ends[k+1] - base)
			}
		}
		base += total
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
		n += len(b.groups)*int(unsafe.Sizeof(group{})) + len(b.big)*68 + cap(b.sigs)*8 + cap(b.exts)*2 + cap(b.ids)*4
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
