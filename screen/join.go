package screen

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode"

	"concordat"
	"concordat/segment"
)

// Passage is a fingerprinted sentence with its place in normalised characters of its document.
type Passage struct {
	Fingerprint concordat.Fingerprint
	Start, End  int32
	Gate        uint8 // largest distance in bits at which it matches
}

// Document is a document as its fingerprints show it.
type Document struct {
	Indexed    []Passage // disjoint, in order
	Asked      []Passage // in order, may overlap; nil: Indexed
	Characters int       // letters, marks and digits
	Runs       []Run     // of its words, by Hash, then Start; nil: the text is not at hand
}

// Run is a run of runWords words.
type Run struct {
	Hash       uint64
	Start, End int32 // normalised characters
}

const (
	// runWords is the number of words whose equality is no accident: the shingle by which
	// near-duplicates are commonly defined.
	runWords = 5
	// edited is the distance in bits up to which a sentence is a lightly edited copy of another,
	// two of three of its words in both (minhash.Resemblance 0.74).
	edited = 13
)

// NewDocument returns the document of a profile and of its text cut up, or nil where the text is not at hand.
// It keeps nothing of either.
func NewDocument(p *concordat.Profile, t *segment.Text) Document {
	d := Document{Indexed: make([]Passage, len(p.Indexed)), Characters: characters(p.Document.Text)}
	place(d.Indexed, p.Indexed, p.Document.Text)
	if p.Asked != nil {
		d.Asked = make([]Passage, len(p.Asked))
		place(d.Asked, p.Asked, p.Document.Text)
	}
	if t != nil {
		d.Runs = runs(t)
	}
	return d
}

func runs(t *segment.Text) []Run {
	n := len(t.Words)
	hashes := Shingling{Width: runWords}.Append(t, make([]uint64, 0, n))
	starts, ends := make([]int32, n), make([]int32, n)
	at, before := 0, 0
	for i, w := range t.Words {
		before += characters(t.Source[at:w.Start])
		starts[i] = int32(before)
		at = int(w.Start)
		ends[i] = int32(before + characters(t.Source[w.Start:w.End]))
	}
	out := make([]Run, len(hashes))
	for i, h := range hashes {
		out[i] = Run{h, starts[i], ends[min(n, i+runWords)-1]}
	}
	slices.SortFunc(out, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Start, b.Start)) })
	return out
}

func counts(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) }

func characters(text string) int {
	n := 0
	for _, r := range text {
		if counts(r) {
			n++
		}
	}
	return n
}

// place turns the spans of sentences, which start in ascending order, into characters.
func place(dst []Passage, sentences []concordat.Sentence, text string) {
	at, before := 0, 0
	for i, s := range sentences {
		before += characters(text[at:s.Span.Start])
		at = s.Span.Start
		dst[i] = Passage{s.Fingerprint, int32(before), int32(before + characters(s.Span.In(text))), uint8(s.Gate)}
	}
}

// JoinOptions say how documents become candidates.
type JoinOptions struct {
	// Probe is how far around each band two fingerprints meet.
	Probe concordat.Probe
	// Common is the number of documents from which on a fingerprint is too common to compare each of
	// them with all others; each is compared with the next Common of them, so that groups of copies
	// stay connected. 0: 100.
	Common int
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
// nibble of the band at a time. Equal fingerprints always meet.
func Candidates(docs []Document, o JoinOptions) Joined {
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
	for _, p := range j.pairs {
		j.out.Pairs = append(j.out.Pairs, [2]int{int(p >> 32), int(uint32(p))})
	}
	return j.out
}

// joiner gathers pairs of documents, each in one number.
type joiner struct {
	o      JoinOptions
	n      int
	prints []Passage // of distinct fingerprints, with the largest of their gates
	starts []int     // where the documents of each begin in docs; one more at the end
	docs   []uint32
	pairs  []uint64
	sorted int // so many of pairs are sorted and distinct
	out    Joined
}

// collect lists the distinct fingerprints and the documents that hold each.
func (j *joiner) collect(docs []Document) {
	type held struct {
		p   Passage
		doc uint32
	}
	var all []held
	for i := range docs {
		for _, p := range docs[i].Indexed {
			all = append(all, held{p, uint32(i)})
		}
	}
	slices.SortFunc(all, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.p.Fingerprint[0], b.p.Fingerprint[0]), cmp.Compare(a.p.Fingerprint[1], b.p.Fingerprint[1]), cmp.Compare(a.doc, b.doc))
	})
	for i, h := range all {
		if i == 0 || h.p.Fingerprint != all[i-1].p.Fingerprint {
			j.prints = append(j.prints, h.p)
			j.starts = append(j.starts, len(j.docs))
		} else if h.doc == all[i-1].doc {
			continue
		}
		last := &j.prints[len(j.prints)-1]
		last.Gate = max(last.Gate, h.p.Gate)
		j.docs = append(j.docs, h.doc)
	}
	j.starts = append(j.starts, len(j.docs))
}

func (j *joiner) holders(print int) []uint32 { return j.docs[j.starts[print]:j.starts[print+1]] }

// pair notes a pair of documents.
func (j *joiner) pair(a, b uint32) {
	if a == b {
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
