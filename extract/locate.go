package extract

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// PageSpan is a stretch of a page's letters, half-open, in runes of [PDF.Letters].
type PageSpan struct {
	Page       int // from 1
	Start, End int
}

// Located is where a passage is on the pages of its original.
type Located struct {
	Spans []PageSpan // in passage order
	Share float64    // share of the passage's letters found there, 0 to 1
}

// SureShare is the share at which a passage counts as found; letters can differ because of extraction, for example if a page header is
// within the passage.
const SureShare = 0.8

// Sure reports whether the location is certain enough to be displayed.
func (l Located) Sure() bool { return l.Share >= SureShare }

const (
	// anchorRunes is the minimum number of letters in a separately findable piece of a passage.
	anchorRunes = 12
	// maxGap is the maximum number of letters between two pieces on the pages, for example a header, a footnote or a table.
	maxGap = 3000
	// maxAnchors is the maximum number of pieces put in order, which takes quadratic time.
	maxAnchors = 2000
	// maxPlacerAnchors is the corresponding limit for a Placer, which has to find thousands of passages.
	maxPlacerAnchors = 400
)

// anchor is a run of letters common to the passage and the pages.
type anchor struct{ here, there, n int }

// Locate finds a passage, folded by Fold, among the letters of pages. near, 0 to 1, is the position of the passage in the whole text; it
// decides between equally good matches. It skips letters that occur only on the pages or only in the passage. The result is the chain of
// common runs, in the same order on both sides, that covers most of the passage. The cost is linear in the pages.
func Locate(pages []string, passage string, near float64) Located {
	p := joined(pages)
	want := []rune(passage)
	k := min(anchorRunes, len(want))
	if k < 4 || len(p.all) < k {
		return Located{}
	}
	return p.located(best(anchors(want, p.all, k), near*float64(len(p.all)), len(p.all)), len(want))
}

// Placer finds many passages among the letters of one document. It is safe for concurrent use.
type Placer struct {
	all    []rune
	starts []int  // start of each page in all, followed by the end of the last
	grams  []gram // letters of all pages in order
}

// gram is a position of anchorRunes letters, with their hash.
type gram struct{ hash, at uint32 }

// maxGrams is the maximum number of letters among which a Placer finds passages: 1,000 pages of dense print.
const maxGrams = 4 << 20

// NewPlacer prepares the letters of pages; see PDF.Letters. It uses about twelve bytes per letter; passages beyond maxGrams are not
// found.
func NewPlacer(pages []string) *Placer {
	p := joined(pages)
	eachHash(p.all[:min(len(p.all), maxGrams)], anchorRunes, func(i int, h uint64) {
		p.grams = append(p.grams, gram{shortHash(h), uint32(i)})
	})
	slices.SortFunc(p.grams, func(a, b gram) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	return p
}

func joined(pages []string) *Placer {
	p := &Placer{starts: make([]int, len(pages)+1)}
	for i, s := range pages {
		p.all = append(p.all, []rune(s)...)
		p.starts[i+1] = len(p.all)
	}
	return p
}

func shortHash(h uint64) uint32 { return uint32(h ^ h>>32) }

// Bytes returns approximately how much memory p takes.
func (p *Placer) Bytes() int { return 4*len(p.all) + 8*len(p.starts) + 8*len(p.grams) }

// mostPlaces is the maximum number of positions with the same letters examined for one passage; the positions closest to the expected one
// are chosen.
const mostPlaces = 8

// Locate is like the function Locate, at a cost linear in the passage. Passages of fewer than anchorRunes letters are not found.
func (p *Placer) Locate(passage string, near float64) Located {
	want := []rune(passage)
	chain, ok := p.chain(want, near)
	if !ok {
		return Located{}
	}
	return p.located(chain, len(want))
}

// chain returns the best chain of common runs of a passage; ok is false if the passage is too short.
func (p *Placer) chain(want []rune, near float64) (_ []anchor, ok bool) {
	if len(want) < anchorRunes {
		return nil, false
	}
	expected := near * float64(len(p.all))
	var out []anchor
	end := map[int]int{} // for each diagonal, the end of its last run in all
	eachHash(want, anchorRunes, func(i int, h uint64) {
		for _, g := range p.nearest(shortHash(h), expected+float64(i)) {
			j := int(g.at)
			if end[j-i] > j || !same(want[i:i+anchorRunes], p.all[j:j+anchorRunes]) {
				continue
			}
			n := anchorRunes
			for i+n < len(want) && j+n < len(p.all) && want[i+n] == p.all[j+n] {
				n++
			}
			end[j-i] = j + n
			out = append(out, anchor{i, j, n})
		}
	})
	return best(longest(out, maxPlacerAnchors), expected, len(p.all)), true
}

// LocateWithin is like Locate for a short stretch of a passage, for example a word: want, between the letters that precede and follow it.
// It finds the whole passage and returns the part of it at the stretch. If the letters of the stretch differ on the page, it returns what
// the page has in their place.
func (p *Placer) LocateWithin(before, want, after string, near float64) Located {
	passage := []rune(before + want + after)
	start := len([]rune(before))
	end := start + len([]rune(want))
	chain, ok := p.chain(passage, near)
	if !ok || start == end {
		return Located{}
	}
	chain = around(chain, start, end)
	from, to := len(p.all), 0 // the stretch in all
	for i, a := range chain {
		if i > 0 { // the letters between two runs
			b := chain[i-1]
			if gap := a.there - b.there - b.n; gap <= 2*(a.here-b.here-b.n) && b.here+b.n < end && a.here > start {
				from, to = min(from, b.there+b.n), max(to, a.there)
			}
		}
		if here, until := max(a.here, start), min(a.here+a.n, end); here < until {
			from, to = min(from, a.there+here-a.here), max(to, a.there+until-a.here)
		}
	}
	if from >= to || to-from > 2*(end-start)+anchorRunes {
		return Located{}
	}
	out := p.located([]anchor{{start, from, to - from}}, to-from)
	out.Share = p.located(chain, len(passage)).Share
	return out
}

// around returns the runs of a chain around a stretch of the passage that are as far apart on the pages as in the passage. Another place
// with the same words may have the rest.
func around(chain []anchor, start, end int) []anchor {
	for from := 0; from < len(chain); {
		to := from + 1
		for ; to < len(chain); to++ {
			a, b := chain[to-1], chain[to]
			if shift := (b.there - a.there) - (b.here - a.here); shift > anchorRunes || shift < -anchorRunes {
				break
			}
		}
		if last := chain[to-1]; chain[from].here < end && last.here+last.n > start {
			return chain[from:to]
		}
		from = to
	}
	return nil
}

// nearest returns up to mostPlaces grams with a hash, closest to a position.
func (p *Placer) nearest(hash uint32, place float64) []gram {
	from, _ := slices.BinarySearchFunc(p.grams, hash, func(g gram, h uint32) int { return cmp.Compare(g.hash, h) })
	to := from
	if hash == math.MaxUint32 {
		to = len(p.grams)
	} else {
		to, _ = slices.BinarySearchFunc(p.grams, hash+1, func(g gram, h uint32) int { return cmp.Compare(g.hash, h) })
	}
	if to-from <= mostPlaces {
		return p.grams[from:to]
	}
	same := p.grams[from:to]
	at, _ := slices.BinarySearchFunc(same, place, func(g gram, x float64) int { return cmp.Compare(float64(g.at), x) })
	first := min(max(at-mostPlaces/2, 0), len(same)-mostPlaces)
	return same[first : first+mostPlaces]
}

// located converts a chain of common runs to stretches of pages; letters is the number in the passage.
func (p *Placer) located(chain []anchor, letters int) Located {
	var out Located
	found := 0
	for _, a := range chain {
		found += a.n
		for from := a.there; from < a.there+a.n; {
			page := sort.SearchInts(p.starts, from+1) - 1
			to := min(a.there+a.n, p.starts[page+1])
			out.Spans = append(out.Spans, PageSpan{page + 1, from - p.starts[page], to - p.starts[page]})
			from = to
		}
	}
	out.Share = float64(found) / float64(letters)
	return out
}

// anchors returns the longest common runs of at least k letters, ordered by position in all.
func anchors(want, all []rune, k int) []anchor {
	at := map[uint64][]int{}
	eachHash(want, k, func(i int, h uint64) {
		if len(at[h]) < 8 { // for a repetitive passage, some anchors suffice
			at[h] = append(at[h], i)
		}
	})
	var out []anchor
	end := map[int]int{} // for each diagonal, the end of its last run in all
	eachHash(all, k, func(j int, h uint64) {
		for _, i := range at[h] {
			if end[j-i] > j || !same(want[i:i+k], all[j:j+k]) {
				continue
			}
			n := k
			for i+n < len(want) && j+n < len(all) && want[i+n] == all[j+n] {
				n++
			}
			end[j-i] = j + n
			out = append(out, anchor{i, j, n})
		}
	})
	return longest(out, maxAnchors)
}

// longest returns up to the given number of the longest runs, ordered by position in all.
func longest(out []anchor, most int) []anchor {
	if len(out) > most {
		sort.Slice(out, func(a, b int) bool { return out[a].n > out[b].n })
		out = out[:most]
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].there < out[b].there })
	return out
}

func same(a, b []rune) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// eachHash visits the hash of every k runes (Karp and Rabin 1987).
func eachHash(s []rune, k int, visit func(i int, h uint64)) {
	const base = 1_000_003
	var h, high uint64 = 0, 1
	for range k - 1 {
		high *= base
	}
	for i, r := range s {
		if i >= k {
			h -= uint64(s[i-k]) * high
		}
		h = h*base + uint64(r)
		if i >= k-1 {
			visit(i-k+1, h)
		}
	}
}

// best returns the chain of anchors, ascending on both sides, with the most letters; ties go to the one that starts closest to a
// position. Overlapping runs are cut.
func best(as []anchor, near float64, size int) []anchor {
	score := make([]float64, len(as))
	before := make([]int, len(as))
	top := -1
	for x, a := range as {
		// The distance counts less than one letter, so it decides only ties.
		d := (float64(a.there) - near) / float64(size+1)
		score[x], before[x] = float64(a.n)-d*d/2, -1
		for y := range x {
			b := as[y]
			gap := a.there - (b.there + b.n)
			cut := max(b.here+b.n-a.here, b.there+b.n-a.there, 0)
			if gap > maxGap || cut >= a.n || b.here >= a.here {
				continue
			}
			if s := score[y] + float64(a.n-cut); s > score[x] {
				score[x], before[x] = s, y
			}
		}
		if top < 0 || score[x] > score[top] {
			top = x
		}
	}
	var out []anchor
	for x := top; x >= 0; x = before[x] {
		out = append(out, as[x])
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	for i := 1; i < len(out); i++ {
		p := out[i-1]
		cut := max(p.here+p.n-out[i].here, p.there+p.n-out[i].there, 0)
		out[i].here, out[i].there, out[i].n = out[i].here+cut, out[i].there+cut, out[i].n-cut
	}
	return out
}

// Marks returns the boxes of a stretch of the page's letters, one per line.
func (p *Page) Marks(start, end int) []Box {
	var out []Box
	for i := max(start, 0); i < min(end, len(p.Boxes)); i++ {
		b := p.Boxes[i]
		if b.Right <= b.Left || b.Bottom <= b.Top {
			continue
		}
		if n := len(out); n > 0 {
			last := &out[n-1]
			overlap := min(last.Bottom, b.Bottom) - max(last.Top, b.Top)
			height := min(last.Bottom-last.Top, b.Bottom-b.Top)
			if overlap > height/2 && b.Left < last.Right+3*height && b.Right > last.Left-3*height {
				*last = Box{min(last.Left, b.Left), min(last.Top, b.Top), max(last.Right, b.Right), max(last.Bottom, b.Bottom)}
				continue
			}
		}
		out = append(out, b)
	}
	return out
}
