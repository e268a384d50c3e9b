package screen

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"concordat"
)

// JoinOptions define which documents become candidates.
type JoinOptions struct {
	// Probe is how close two fingerprints must be in a band to meet.
	Probe concordat.Probe
	// Common is the number of documents at which a fingerprint is too common to compare all of them with each other. Each is then
	// compared with the next Common of them, so that groups of copies stay connected. The default is 100.
	Common int
	// Split, if above 0, restricts pairs to one document below Split and one at or above it. This joins two collections, or two parts of
	// one.
	Split int
	// Most is the number of distinct pairs above which the join fails with ErrMemory; 0 means no limit.
	Most int
}

// Joined is the result of a join.
type Joined struct {
	Pairs [][2]int // A < B, in ascending order
	// Common is the number of fingerprints, and Crowded is the number of band values, that were too common to compare all with all.
	Common, Crowded int
}

// crowd is the number of fingerprints with one band value at which each is compared only with the next crowd ones.
const crowd = 4096

// Candidates returns the pairs of documents in which an indexed fingerprint of one meets an indexed fingerprint of the other within both
// gates and the probe. It fails only with ErrMemory, if there are more than o.Most pairs. Join can use more than one core.
func Candidates(docs []Document, o JoinOptions) (Joined, error) {
	j, err := NewJoin(docs, o)
	if err != nil {
		return Joined{}, err
	}
	for pass := range j.Passes() {
		if err := j.Pass(pass); err != nil {
			return Joined{}, err
		}
	}
	return j.Joined()
}

// Join does the work of Candidates in passes that can run in parallel. Each pass sorts all fingerprints by a band and compares
// fingerprints with equal values (sort-merge join), so its work is mostly sorting; with ProbeOne, each pass omits one nibble of the band.
// Besides the documents, it needs about 70 bytes of memory per fingerprint, 32 more for each running pass, and up to 40 bytes per pair.
// The documents must not change.
type Join struct {
	o         JoinOptions
	documents int
	prints    []print  // distinct fingerprints, in order of their words
	starts    []uint32 // start of each print's documents in holders, then the end
	holders   []uint32 // documents

	mu      sync.Mutex
	found   pairSet
	common  int
	crowded int
	spare   []*joinRoom
}

// print is a fingerprint with the largest gate of the passages that contain it, in the highest byte of the second word.
type print struct{ first, second uint64 }

const (
	gateShift = 56
	wordBits  = 40 // bits of the fingerprint in the second word
)

func (p print) fingerprint() concordat.Fingerprint {
	return concordat.Fingerprint{p.first, p.second & (1<<wordBits - 1)}
}

func (p print) gate() int { return int(p.second >> gateShift) }

// near reports whether two prints are within both gates.
func (p print) near(q print) bool {
	gate := min(p.gate(), q.gate())
	d := bits.OnesCount64(p.first ^ q.first)
	return d <= gate && d+bits.OnesCount64((p.second^q.second)<<(64-wordBits)) <= gate
}

// NewJoin prepares a join by finding the distinct fingerprints and the documents of each. It fails only with ErrMemory, if there are more
// than 2^32-1 fingerprints.
func NewJoin(docs []Document, o JoinOptions) (*Join, error) {
	if o.Common == 0 {
		o.Common = 100
	}
	j := &Join{o: o, documents: len(docs), found: pairSet{most: o.Most}}
	n := 0
	for i := range docs {
		n += len(docs[i].Indexed)
	}
	if n > math.MaxUint32 {
		return nil, fmt.Errorf("%w: cannot join %d fingerprints: the maximum is %d", ErrMemory, n, uint32(math.MaxUint32))
	}
	all, of := make([]print, 0, n), make([]uint32, 0, n) // passages and their documents
	keys, ids := make([]uint32, n), make([]uint32, n)
	for i := range docs {
		for k := range docs[i].Indexed {
			p := &docs[i].Indexed[k]
			keys[len(all)], ids[len(all)] = highest(p.Fingerprint[0]), uint32(len(all))
			all, of = append(all, print{p.Fingerprint[0], p.Fingerprint[1] | uint64(p.Gate)<<gateShift}), append(of, uint32(i))
		}
	}
	radix(keys, make([]uint32, n), ids, make([]uint32, n))
	j.prints, j.holders, j.starts = make([]print, 0, n), make([]uint32, 0, n), make([]uint32, 0, n+1)
	for from := 0; from < n; {
		to := from + 1
		for to < n && keys[to] == keys[from] {
			to++
		}
		// Equal prints stay in order of document, because both sorts are stable.
		if to > from+1 {
			slices.SortStableFunc(ids[from:to], func(a, b uint32) int {
				return cmp.Or(cmp.Compare(all[a].first, all[b].first), cmp.Compare(all[a].second<<(64-wordBits), all[b].second<<(64-wordBits)))
			})
		}
		for i := from; i < to; i++ {
			j.hold(all[ids[i]], of[ids[i]], i == from)
		}
		from = to
	}
	j.starts = append(j.starts, uint32(len(j.holders)))
	return j, nil
}

// highest returns the highest 32 of the 60 bits in a fingerprint's first word.
func highest(first uint64) uint32 { return uint32(first >> (60 - 32)) }

// hold adds a passage of a document; fresh means that its fingerprint differs from the previous one.
func (j *Join) hold(p print, doc uint32, fresh bool) {
	last := len(j.prints) - 1
	if fresh || p.fingerprint() != j.prints[last].fingerprint() {
		j.starts = append(j.starts, uint32(len(j.holders)))
		j.prints, j.holders = append(j.prints, p), append(j.holders, doc)
		return
	}
	if doc == j.holders[len(j.holders)-1] {
		// Ignore its gate, because the document's first passage with a fingerprint represents the others.
		return
	}
	if p.gate() > j.prints[last].gate() {
		j.prints[last] = p
	}
	j.holders = append(j.holders, doc)
}

func (j *Join) holding(print uint32) []uint32 { return j.holders[j.starts[print]:j.starts[print+1]] }

// Passes returns the number of passes. There is one for documents with equal fingerprints, and then one for each band or, with ProbeOne,
// for each nibble of each band.
func (j *Join) Passes() int { return 1 + concordat.Bands*j.nibbles() }

func (j *Join) nibbles() int {
	if j.o.Probe == concordat.ProbeOne {
		return concordat.BandBits / 4
	}
	return 1
}

// Pass runs pass number n, 0 ≤ n < Passes. Several goroutines can run passes at the same time; each pass must run once. It fails with
// ErrMemory if there are more than o.Most pairs, like Joined.
func (j *Join) Pass(n int) error {
	r := j.room()
	defer j.leave(r)
	if n == 0 {
		j.copies(r)
	} else {
		band, nibble := (n-1)/j.nibbles(), (n-1)%j.nibbles()
		j.sort(r, band, nibble)
		j.merge(r, band, nibble)
	}
	return j.add(r)
}

// copies pairs the documents with equal fingerprints.
func (j *Join) copies(r *joinRoom) {
	for i := range j.prints {
		list := j.holding(uint32(i))
		if len(list) > j.o.Common {
			r.common++
		}
		for x := range list {
			for _, b := range list[x+1 : min(len(list), x+1+j.o.Common)] {
				j.pair(r, list[x], b)
			}
		}
	}
}

// sort orders the prints by the band or, with ProbeOne, by the band without the nibble.
func (j *Join) sort(r *joinRoom, band, nibble int) {
	n := len(j.prints)
	if r.keys == nil {
		r.keys, r.keysTo = make([]uint32, n), make([]uint32, n)
		r.ids, r.idsTo = make([]uint32, n), make([]uint32, n)
		r.prints = make([]print, n)
	}
	low, high := ^uint32(0), uint32(0) // masks for bits below and above the nibble
	if j.o.Probe == concordat.ProbeOne {
		low = 1<<(4*nibble) - 1
		high = ^low
	}
	for i, p := range j.prints {
		v := p.fingerprint().Band(band)
		r.keys[i], r.ids[i] = v&low|v>>4&high, uint32(i)
	}
	radix(r.keys, r.keysTo, r.ids, r.idsTo)
	// Read the prints here, where no read waits for another, rather than during the comparison.
	for i, id := range r.ids {
		r.prints[i] = j.prints[id]
	}
}

// merge compares fingerprints with equal keys.
func (j *Join) merge(r *joinRoom, band, nibble int) {
	for i := 0; i < len(r.keys); {
		k := i + 1
		for k < len(r.keys) && r.keys[k] == r.keys[i] {
			k++
		}
		if k-i > crowd {
			r.crowded++
		}
		for x := i; x < k-1; x++ {
			p := r.prints[x]
			for y, q := range r.prints[x+1 : min(k, x+1+crowd)] {
				if p.near(q) && first(j.o.Probe, p.fingerprint(), q.fingerprint(), band, nibble) {
					j.cross(r, r.ids[x], r.ids[x+1+y])
				}
			}
		}
		i = k
	}
}

// first reports whether this band and nibble are the first in which two fingerprints meet.
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

// cross pairs the documents of two fingerprints; for common fingerprints, it uses only the first Common documents.
func (j *Join) cross(r *joinRoom, f, g uint32) {
	a, b := j.holding(f), j.holding(g)
	for _, x := range a[:min(len(a), j.o.Common)] {
		for _, y := range b[:min(len(b), j.o.Common)] {
			j.pair(r, x, y)
		}
	}
}

// pair records a pair of documents.
func (j *Join) pair(r *joinRoom, a, b uint32) {
	if a == b || r.full || j.o.Split > 0 && (a < uint32(j.o.Split)) == (b < uint32(j.o.Split)) {
		return
	}
	if len(r.pairs) == maxLocal {
		r.full = j.add(r) != nil
	}
	r.pairs = append(r.pairs, uint64(min(a, b))<<32|uint64(max(a, b)))
}

// maxLocal is the number of pairs that a pass collects before it adds them to the result.
const maxLocal = 1 << 18

// joinRoom is the working memory of a pass.
type joinRoom struct {
	keys, keysTo    []uint32
	ids, idsTo      []uint32
	prints          []print // in order of key
	pairs           []uint64
	full            bool // whether there are too many pairs
	common, crowded int
}

func (j *Join) room() *joinRoom {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.spare); n > 0 {
		r := j.spare[n-1]
		j.spare = j.spare[:n-1]
		return r
	}
	return &joinRoom{}
}

func (j *Join) leave(r *joinRoom) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spare = append(j.spare, r)
}

// add adds a pass's pairs to the result.
func (j *Join) add(r *joinRoom) error {
	slices.Sort(r.pairs)
	r.pairs = slices.Compact(r.pairs)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.found.add(r.pairs)
	j.common, j.crowded = j.common+r.common, j.crowded+r.crowded
	r.pairs, r.common, r.crowded = r.pairs[:0], 0, 0
	return j.full()
}

// full returns ErrMemory if there are too many pairs.
func (j *Join) full() error {
	if j.found.full {
		return fmt.Errorf("%w: more than %d candidate pairs among %d documents", ErrMemory, j.o.Most, j.documents)
	}
	return nil
}

// Joined returns the pairs found by all passes, which must have run; it fails with ErrMemory if there are more than o.Most pairs. The
// join cannot be used afterwards.
func (j *Join) Joined() (Joined, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.found.compact()
	if err := j.full(); err != nil {
		return Joined{}, err
	}
	j.spare, j.prints, j.holders, j.starts = nil, nil, nil, nil
	out := Joined{Pairs: make([][2]int, 0, len(j.found.pairs)), Common: j.common, Crowded: j.crowded}
	for _, p := range j.found.pairs {
		out.Pairs = append(out.Pairs, [2]int{int(p >> 32), int(uint32(p))})
	}
	return out, nil
}

// pairSet is a set of document pairs, each stored as one number.
type pairSet struct {
	pairs  []uint64
	sorted int // number of leading pairs that are sorted and distinct
	most   int // 0 means no limit
	full   bool
}

// add adds pairs. It removes repeats when there may be as many of them as distinct pairs, so it uses at most twice the memory of the
// distinct pairs.
func (s *pairSet) add(pairs []uint64) {
	if s.full {
		return
	}
	if len(s.pairs)+len(pairs) > 2*s.sorted+1<<20 {
		s.compact()
	}
	s.pairs = append(s.pairs, pairs...)
}

func (s *pairSet) compact() {
	slices.Sort(s.pairs)
	s.pairs = slices.Compact(s.pairs)
	s.sorted = len(s.pairs)
	s.full = s.full || s.most > 0 && s.sorted > s.most
}
