package screen

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"concordat"
)

// JoinOptions say how documents become candidates.
type JoinOptions struct {
	// Probe is how far around each band two fingerprints meet.
	Probe concordat.Probe
	// Common is the number of documents from which on a fingerprint is too common to compare each of
	// them with all others; each is compared with the next Common of them, so that groups of copies
	// stay connected. 0: 100.
	Common int
	// Split above 0 wants only pairs of a document below it with one from it on: two collections, or two
	// parts of one, joined with each other.
	Split int
	// Most is the number of distinct pairs from which on Candidates gives up with ErrMemory; 0: none.
	Most int
}

// Joined is what Candidates found.
type Joined struct {
	Pairs [][2]int // A < B, ascending
	// Common is the number of fingerprints, and Crowded of band values, that were too common to
	// compare all with all.
	Common, Crowded int
}

// crowd is the number of fingerprints of one band value from which on each is compared with so
// many of the next only.
const crowd = 4096

// Candidates returns the pairs of documents that have an indexed fingerprint each within their
// gates and the probe: a sort of all fingerprints by each band and a merge within equal values
// (sort-merge join), so that its work is that of sorting. With ProbeOne the sorts leave out one
// nibble of the band at a time. Equal fingerprints always meet. It fails with ErrMemory only, where
// there are more than o.Most pairs.
func Candidates(docs []Document, o JoinOptions) (Joined, error) {
	if o.Common == 0 {
		o.Common = 100
	}
	j := joiner{o: o, n: len(docs)}
	j.collect(docs)
	for i := range j.prints {
		list := j.holders(i)
		if len(list) > o.Common {
			j.out.Common++
		}
		for x := range list {
			for _, b := range list[x+1 : min(len(list), x+1+o.Common)] {
				j.pair(list[x], b)
			}
		}
	}
	keys, ids := make([]uint64, len(j.prints)), make([]uint32, len(j.prints))
	scratch, idScratch := make([]uint64, len(keys)), make([]uint32, len(keys))
	for band := range concordat.Bands {
		nibbles := 1
		if o.Probe == concordat.ProbeOne {
			nibbles = concordat.BandBits / 4
		}
		for nibble := range nibbles {
			mask := ^uint32(0)
			if o.Probe == concordat.ProbeOne {
				mask = ^(uint32(15) << (4 * nibble))
			}
			for i := range keys {
				keys[i], ids[i] = uint64(j.prints[i].Fingerprint.Band(band)&mask), uint32(i)
			}
			radix(keys, scratch, ids, idScratch)
			j.merge(keys, ids, band, nibble)
		}
	}
	j.compact()
	if j.full {
		return Joined{}, fmt.Errorf("%w: more than %d candidate pairs of %d documents", ErrMemory, o.Most, len(docs))
	}
	j.out.Pairs = make([][2]int, 0, len(j.pairs))
	for _, p := range j.pairs {
		j.out.Pairs = append(j.out.Pairs, [2]int{int(p >> 32), int(uint32(p))})
	}
	return j.out, nil
}

// joiner gathers pairs of documents, each in one number.
type joiner struct {
	o      JoinOptions
	n      int
	prints []Passage // of distinct fingerprints, with the largest of their gates
	starts []int     // where the documents of each begin in docs; one more at the end
	docs   []uint32
	pairs  []uint64
	sorted int  // so many of pairs are sorted and distinct
	full   bool // more than o.Most
	out    Joined
}

// collect lists the distinct fingerprints, in order of their words, and the documents that hold each, in order.
func (j *joiner) collect(docs []Document) {
	n := 0
	for i := range docs {
		n += len(docs[i].Indexed)
	}
	all, of := make([]*Passage, 0, n), make([]uint32, 0, n) // passages, and their documents
	keys, ids := make([]uint64, 0, n), make([]uint32, 0, n)
	for i := range docs {
		for k := range docs[i].Indexed {
			p := &docs[i].Indexed[k]
			keys, ids = append(keys, p.Fingerprint[0]), append(ids, uint32(len(all)))
			all, of = append(all, p), append(of, uint32(i))
		}
	}
	radix(keys, make([]uint64, n), ids, make([]uint32, n))
	j.prints, j.docs, j.starts = make([]Passage, 0, n), make([]uint32, 0, n), make([]int, 0, n+1)
	for from := 0; from < n; {
		to := from + 1
		for to < n && keys[to] == keys[from] {
			to++
		}
		// Equal first words stand in order of document, as the sort is stable.
		slices.SortStableFunc(ids[from:to], func(a, b uint32) int { return cmp.Compare(all[a].Fingerprint[1], all[b].Fingerprint[1]) })
		for i := from; i < to; i++ {
			j.hold(*all[ids[i]], of[ids[i]], i == from)
		}
		from = to
	}
	j.starts = append(j.starts, len(j.docs))
}

// hold adds a passage of a document; fresh says that it differs from the one before, which may be so all the same.
func (j *joiner) hold(p Passage, doc uint32, fresh bool) {
	if fresh || p.Fingerprint != j.prints[len(j.prints)-1].Fingerprint {
		j.prints = append(j.prints, p)
		j.starts = append(j.starts, len(j.docs))
	} else if doc == j.docs[len(j.docs)-1] {
		// Its gate does not count: the document's first passage of a fingerprint stands for all.
		return
	}
	last := &j.prints[len(j.prints)-1]
	last.Gate = max(last.Gate, p.Gate)
	j.docs = append(j.docs, doc)
}

func (j *joiner) holders(print int) []uint32 { return j.docs[j.starts[print]:j.starts[print+1]] }

// pair notes a pair of documents.
func (j *joiner) pair(a, b uint32) {
	if a == b || j.full || j.o.Split > 0 && (a < uint32(j.o.Split)) == (b < uint32(j.o.Split)) {
		return
	}
	if len(j.pairs) == cap(j.pairs) && len(j.pairs) > 2*j.sorted+1<<20 {
		j.compact()
	}
	j.pairs = append(j.pairs, uint64(min(a, b))<<32|uint64(max(a, b)))
}

// compact drops repeats, so that memory is that of the distinct pairs, twice.
func (j *joiner) compact() {
	slices.Sort(j.pairs)
	j.pairs = slices.Compact(j.pairs)
	j.sorted = len(j.pairs)
	j.full = j.o.Most > 0 && j.sorted > j.o.Most
}

// merge compares the fingerprints of each key with one another.
func (j *joiner) merge(keys []uint64, ids []uint32, band, nibble int) {
	for i := 0; i < len(keys); {
		k := i + 1
		for k < len(keys) && keys[k] == keys[i] {
			k++
		}
		if k-i > crowd {
			j.out.Crowded++
		}
		if k-i == 1 {
			i = k
			continue
		}
		for x := i; x < k; x++ {
			p := &j.prints[ids[x]]
			for y := x + 1; y < min(k, x+1+crowd); y++ {
				q := &j.prints[ids[y]]
				if p.Fingerprint.Distance(q.Fingerprint) <= int(min(p.Gate, q.Gate)) && first(j.o.Probe, p.Fingerprint, q.Fingerprint, band, nibble) {
					j.cross(int(ids[x]), int(ids[y]))
				}
			}
		}
		i = k
	}
}

// first reports whether band and nibble are the first by which the two fingerprints meet.
func first(probe concordat.Probe, f, g concordat.Fingerprint, band, nibble int) bool {
	for b := range band + 1 {
		x := f.Band(b) ^ g.Band(b)
		if x == 0 {
			return b == band && nibble == 0
		}
		if n := bits.TrailingZeros32(x) / 4; probe == concordat.ProbeOne && x>>(4*n) < 16 {
			return b == band && n == nibble
		}
	}
	return false
}

// cross notes the pairs of the documents of two fingerprints, of common ones the first Common.
func (j *joiner) cross(f, g int) {
	a, b := j.holders(f), j.holders(g)
	for _, x := range a[:min(len(a), j.o.Common)] {
		for _, y := range b[:min(len(b), j.o.Common)] {
			j.pair(x, y)
		}
	}
}

// Overlap is how much of two documents is in the other, by their fingerprints.
type Overlap struct {
	CoveredA, CoveredB int // normalised characters
	// Resemblance is the covered characters of both over all characters of both.
	Resemblance            float64
	ContainedA, ContainedB float64 // covered share of each
}

// Compare returns the overlap of two documents. Where both have their runs of words, what is covered
// is the runs they share and the asked sentences that are lightly edited copies of an indexed sentence of
// the other; else the asked sentences within the gate of one. Every sentence is compared with every
// one of the other.
func Compare(a, b *Document) Overlap {
	o := Overlap{CoveredA: covered(a, b), CoveredB: covered(b, a)}
	o.ContainedA = share(o.CoveredA, a.Characters)
	o.ContainedB = share(o.CoveredB, b.Characters)
	o.Resemblance = share(o.CoveredA+o.CoveredB, a.Characters+b.Characters)
	return o
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}

// covered returns the number of characters of a that b covers.
func covered(a, b *Document) int {
	spans, limit := [][2]int32(nil), concordat.Bits
	if a.Runs != nil && b.Runs != nil {
		spans, limit = sharedRuns(a.Runs, b.Runs), edited
	}
	asked := a.Asked
	if asked == nil {
		asked = a.Indexed
	}
	for i := range asked {
		if p := &asked[i]; near(p, b.Indexed, limit) {
			spans = append(spans, [2]int32{p.Start, p.End})
		}
	}
	slices.SortFunc(spans, func(x, y [2]int32) int { return cmp.Compare(x[0], y[0]) })
	n, end := 0, int32(0)
	for _, s := range spans {
		if s[1] > end {
			n += int(s[1] - max(s[0], end))
			end = s[1]
		}
	}
	return n
}

// near reports whether a passage lies within limit and both gates of one of the others. It is where
// screening spends its time: nearly all pairs are told apart by the first 60 bits.
func near(p *Passage, others []Passage, limit int) bool {
	limit = min(limit, int(p.Gate))
	for i := range others {
		q := &others[i]
		d := bits.OnesCount64(p.Fingerprint[0] ^ q.Fingerprint[0])
		if d <= limit && d+bits.OnesCount64(p.Fingerprint[1]^q.Fingerprint[1]) <= min(limit, int(q.Gate)) {
			return true
		}
	}
	return false
}

// sharedRuns returns the places of those runs of a that b has too.
func sharedRuns(a, b []Run) [][2]int32 {
	var out [][2]int32
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Hash < b[j].Hash:
			i++
		case a[i].Hash > b[j].Hash:
			j++
		default:
			out = append(out, [2]int32{a[i].Start, a[i].End})
			i++ // the next of a may be the same run again
		}
	}
	return out
}

// SectionOverlap is how much of a section of one document is in a section of another.
type SectionOverlap struct {
	A, B string // names of the sections
	Overlap
}

// CompareSections returns the overlaps of the sections of a with those of b that have any, in the order
// of a, then of b.
func CompareSections(a, b *Document) []SectionOverlap {
	var out []SectionOverlap
	parts := make([]Document, len(b.Sections))
	for j, t := range b.Sections {
		parts[j] = b.part(t)
	}
	for _, s := range a.Sections {
		p := a.part(s)
		for j, t := range b.Sections {
			if o := Compare(&p, &parts[j]); o.CoveredA+o.CoveredB > 0 {
				out = append(out, SectionOverlap{s.Name, t.Name, o})
			}
		}
	}
	return out
}
