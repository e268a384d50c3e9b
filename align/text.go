package align

import (
	"math/bits"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat"
	"concordat/segment"
)

// Text is one side of a comparison, prepared. It is immutable and safe for concurrent use.
type Text struct {
	source string
	sketch bool // made from a Sketch: there are no words
	words  []token
	ranks  []int32 // of each word's stem in terms, mutedTerm for a muted word; nil for a sketch
	units  []unit
	// terms are the hashes of the distinct stems, ascending; an entry names a stem by its rank here.
	terms []uint64
	// spread[r] is the number of units that hold the stem of rank r.
	spread []int32
	// stops[r] says whether the stem of rank r belongs to a stop word.
	stops []bool
	// entries[u.from:u.to] are the distinct stems of unit u, in order of rank.
	entries  []entry
	examined examined
}

// examined holds the parts of a text under examination that comparisons need for any source. They are computed only once, when first
// needed, because a long text has hundreds of sources.
type examined struct {
	gramsOnce, stemsOnce sync.Once
	grams                []uint64         // hashes of the grams of its words
	stems                []token          // see byStems
	count                map[uint64]int32 // of each stem
}

// grams returns the hashes of the grams that begin at each word, reduced for a table of places.
func (t *Text) grams() []uint64 {
	t.examined.gramsOnce.Do(func() { t.examined.grams = gramsOf(t.words) })
	return t.examined.grams
}

// stems returns the words by their stems, and how often each stem occurs.
func (t *Text) stems() ([]token, map[uint64]int32) {
	t.examined.stemsOnce.Do(func() {
		t.examined.stems = t.byStems()
		t.examined.count = countsOf(t.examined.stems)
	})
	return t.examined.stems, t.examined.count
}

// unit is a unit of comparison: a sentence, a part of a long one, or several short ones together.
type unit struct {
	first, last int32 // words
	from, to    int32 // entries
	chars       int32 // weighted letters
	start, end  int32 // bytes of the original
}

// entry is a stem of a unit with its number of occurrences.
type entry struct{ term, count int32 }

// Bounds of a unit (doc/evaluation/align.md gives the measurements behind them;
// Sanchez-Perez, Gelbukh and Sidorov 2014 join short sentences the same way).
const (
	// leastWords: a shorter unit is too weak by itself and is joined to the next.
	leastWords = 6
	// maxChars: passages begin and end at units, so long ones blur their edges.
	maxChars = 125
)

// Prepare cuts text into units and words. Its cost is linear in the text, about 0.3 ms for 3,000
// words.
func Prepare(text string) *Text { return PrepareWithout(text, nil) }

// PrepareWithout does the same as [Prepare] for a text with spans that are not compared because their wording is legitimately shared.
// Their words equal no word of the other side, and no passage of [Pair] for people reaches across one of them. walls are bytes of text,
// in order and disjoint; a word belongs to the span that holds its first byte.
func PrepareWithout(text string, walls []concordat.Span) *Text {
	t := &Text{source: text}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	words, sentences, folded := s.tokens(text)
	t.words = words
	if len(walls) > 0 {
		sentences = mute(words, sentences, walls)
	}
	t.units = cut(words, sentences)
	t.weigh(s, folded)
	return t
}

// mutedHash is the hash of a word that is not compared.
const mutedHash = 0

// mute removes the words within walls from the comparison and returns the sentences without them, divided at walls.
func mute(words []token, sentences []sentence, walls []concordat.Span) []sentence {
	var out []sentence
	k, wall := 0, int32(0)
	for _, s := range sentences {
		first := s.first
		for i := s.first; i < s.last; i++ {
			w := &words[i]
			for k < len(walls) && walls[k].End <= int(w.start) {
				k++
			}
			if k == len(walls) || int(w.start) < walls[k].Start {
				continue
			}
			w.hash = mutedHash
			if i > first {
				out = append(out, sentence{first, i, wall})
			}
			if first = i + 1; i == 0 || words[i-1].hash != mutedHash {
				wall++
			}
		}
		if first < s.last {
			out = append(out, sentence{first, s.last, wall})
		}
	}
	return out
}

// scratch is the memory of one preparation, reused by the next.
type scratch struct {
	text  segment.Text
	norms [][2]int32
	chars []segment.Character
	ids   table // folded word -> provisional id of its stem
	stems table
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// table maps hashes to numbers. The hashes are xxhash values, whose low bits are as good as any.
type table struct {
	keys []uint64
	vals []int32 // 0: no key
}

// reset empties t and makes room for some keys.
func (t *table) reset(keys int) {
	size := 1 << bits.Len(uint(2*keys))
	if len(t.keys) < size || len(t.keys) > 16*size {
		t.keys, t.vals = make([]uint64, size), make([]int32, size)
	} else {
		clear(t.vals)
	}
}

// slot returns the place of a key's value, which is 0 if the key is new. The key is then in the table, and its value must be set. slot must
// not be called for more keys than reset made room for.
func (t *table) slot(key uint64) *int32 {
	mask := uint64(len(t.keys) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		if t.vals[i] == 0 {
			t.keys[i] = key
			return &t.vals[i]
		}
		if t.keys[i] == key {
			return &t.vals[i]
		}
	}
}

// cut turns sentences into units.
func cut(words []token, sentences []sentence) []unit {
	units := make([]unit, 0, len(sentences)+len(words)/16)
	for i := 0; i < len(sentences); {
		s := sentences[i]
		i++
		for s.last-s.first < leastWords && i < len(sentences) && sentences[i].wall == s.wall {
			s.last = sentences[i].last
			i++
		}
		if n := len(units); s.last-s.first < leastWords && n > 0 && units[n-1].last == s.first {
			// A unit at the end of the text can only join the one before it.
			last := &units[len(units)-1]
			last.last = s.last
			continue
		}
		units = divide(units, words, s)
	}
	return units
}

// divide appends s, cut into pieces of at most maxChars letters. It cuts before the last word that follows a clause mark if the piece then
// has at least a quarter of maxChars, otherwise between any two words.
func divide(units []unit, words []token, s sentence) []unit {
	first := s.first
	chars, cutAt, cutChars := int32(0), int32(0), int32(0)
	for i := s.first; i < s.last; i++ {
		w := &words[i]
		if i > first && w.flags&afterClause != 0 && chars >= maxChars/4 {
			cutAt, cutChars = i, chars
		}
		if chars+w.chars > maxChars && i > first {
			if cutAt <= first {
				cutAt, cutChars = i, chars
			}
			units = append(units, unit{first: first, last: cutAt, chars: cutChars})
			first, chars = cutAt, chars-cutChars
		}
		chars += w.chars
	}
	if first < s.last {
		units = append(units, unit{first: first, last: s.last, chars: chars})
	}
	return units
}

// weigh fills in terms, spread and entries.
func (t *Text) weigh(s *scratch, folded func(int) []byte) {
	s.ids.reset(len(t.words))
	s.stems.reset(len(t.words))
	of := make([]int32, len(t.words))
	var hashes []uint64
	for i := range t.words {
		h := t.words[i].hash
		if h == mutedHash {
			of[i] = mutedTerm
			continue
		}
		if t.words[i].flags&gramWord != 0 {
			h = xxhash.Sum64(folded(i))
		}
		id := s.ids.slot(h)
		if *id == 0 {
			stem := xxhash.Sum64(segment.Stem(folded(i)))
			known := s.stems.slot(stem)
			if *known == 0 {
				hashes = append(hashes, stem)
				*known = int32(len(hashes))
			}
			*id = *known
		}
		of[i] = *id - 1
	}
	t.rank(hashes, of)
	t.ranks = of
	t.spread = make([]int32, len(t.terms))
	t.stops = make([]bool, len(t.terms))
	for i, r := range of {
		if r != mutedTerm && t.words[i].flags&stopWord != 0 {
			t.stops[r] = true
		}
	}
	count := make([]int32, len(t.terms))
	for i := range t.units {
		u := &t.units[i]
		u.from = int32(len(t.entries))
		for _, r := range of[u.first:u.last] {
			if count[r] == 0 {
				t.entries = append(t.entries, entry{term: r})
				t.spread[r]++
			}
			count[r]++
		}
		u.to = int32(len(t.entries))
		for j := range t.entries[u.from:u.to] {
			e := &t.entries[int(u.from)+j]
			e.count, count[e.term] = count[e.term], 0
		}
		slices.SortFunc(t.entries[u.from:u.to], func(x, y entry) int { return int(x.term - y.term) })
		u.chars = 0
		for _, w := range t.words[u.first:u.last] {
			u.chars += w.chars
		}
		span := t.span(u.first, u.last)
		u.start, u.end = int32(span.Start), int32(span.End)
		if i > 0 { // one mark may be between the previous and the next word
			u.start = max(u.start, t.units[i-1].end)
		}
	}
}

// rank sorts the stems' hashes into terms and replaces the provisional ids in of with ranks.
func (t *Text) rank(hashes []uint64, of []int32) {
	order := make([]int32, len(hashes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if hashes[a] < hashes[b] {
			return -1
		}
		return 1
	})
	ranks := make([]int32, len(hashes))
	t.terms = make([]uint64, len(hashes))
	for r, id := range order {
		ranks[id] = int32(r)
		t.terms[r] = hashes[id]
	}
	for i := range of {
		if of[i] != mutedTerm {
			of[i] = ranks[of[i]]
		}
	}
}

// mutedTerm replaces the stem of a word that is not compared.
const mutedTerm = -1

// maxMarks bounds the punctuation attached to a passage's first and last word.
const maxMarks = 3

// span returns where words [first, last) are, with the punctuation at their outer ends: quotation marks and brackets before, full stops and
// the like after.
func (t *Text) span(first, last int32) concordat.Span {
	s := concordat.Span{Start: int(t.words[first].start), End: int(t.words[last-1].end)}
	from, to := 0, len(t.source)
	if first > 0 {
		from = int(t.words[first-1].end)
	}
	if int(last) < len(t.words) {
		to = int(t.words[last].start)
	}
	for range maxMarks {
		r, size := utf8.DecodeRuneInString(t.source[s.End:to])
		if size == 0 || r == utf8.RuneError || unicode.IsSpace(r) || opening(r) {
			break
		}
		s.End += size
	}
	for range maxMarks {
		r, size := utf8.DecodeLastRuneInString(t.source[from:s.Start])
		if size == 0 || r == utf8.RuneError || !opening(r) && !unicode.Is(unicode.Pf, r) && r != '"' && r != '\'' {
			break
		}
		s.Start -= size
	}
	return s
}

func opening(r rune) bool { return unicode.Is(unicode.Ps, r) || unicode.Is(unicode.Pi, r) }
