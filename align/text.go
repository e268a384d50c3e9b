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

// Text is one side of a comparison, prepared for it. It is immutable and safe for concurrent use.
type Text struct {
	source string
	sketch bool // made from a Sketch, so it has no words
	words  []token
	ranks  []int32 // ranks of the words' stems in terms, mutedTerm for a muted word; nil for a sketch
	units  []unit
	// terms contains the hashes of the distinct stems, ascending; entries refer to stems by their rank here.
	terms []uint64
	// spread[r] is the number of units that contain the stem of rank r.
	spread []int32
	// stops[r] states whether the stem of rank r belongs to a stop word.
	stops []bool
	// entries[u.from:u.to] are the distinct stems of unit u, ordered by rank.
	entries  []entry
	examined examined
}

// examined holds data about a text under examination that comparisons with any source need. It is computed only once, on first use,
// because a long text has hundreds of sources.
type examined struct {
	gramsOnce, stemsOnce sync.Once
	grams                []uint64         // hashes of the grams of words
	stems                []token          // see byStems
	count                map[uint64]int32 // number of occurrences of each stem
}

// grams returns the hashes of the grams starting at each word, reduced for a table of places.
func (t *Text) grams() []uint64 {
	t.examined.gramsOnce.Do(func() { t.examined.grams = gramsOf(t.words) })
	return t.examined.grams
}

// stems returns the stems of the words, and the number of occurrences of each stem.
func (t *Text) stems() ([]token, map[uint64]int32) {
	t.examined.stemsOnce.Do(func() {
		t.examined.stems = t.byStems()
		t.examined.count = countsOf(t.examined.stems)
	})
	return t.examined.stems, t.examined.count
}

// unit is a unit of comparison: a sentence, part of a long one, or several short ones joined.
type unit struct {
	first, last int32 // in words
	from, to    int32 // in entries
	chars       int32 // in weighted letters
	start, end  int32 // in bytes of the original
}

// entry is a stem in a unit, with its number of occurrences.
type entry struct{ term, count int32 }

// Limits on the size of a unit (doc/evaluation/align.md has the underlying measurements; Sanchez-Perez, Gelbukh and Sidorov 2014 join
// short sentences in the same way).
const (
	// leastWords is the minimum size, because a shorter unit is too weak on its own and is joined to the next.
	leastWords = 6
	// maxChars is the maximum size, because passages start and end at units, so long ones blur the edges.
	maxChars = 125
)

// Prepare splits text into units and words. Its cost is linear in the text, about 0.3 ms for 3,000 words.
func Prepare(text string) *Text { return PrepareWithout(text, nil) }

// PrepareWithout is like [Prepare], for a text with spans to be excluded from comparison because their wording is legitimately shared.
// Words in these spans equal no word on the other side, and no passage that [Pair] returns for people extends across one. walls are byte
// spans in text order without overlaps; a word belongs to the span that contains its first byte.
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

// mutedHash is the hash of words excluded from comparison.
const mutedHash = 0

// mute excludes the words inside walls from comparison, and returns the sentences without them, split at walls.
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

// scratch is the memory of one preparation, reused by the next one.
type scratch struct {
	text  segment.Text
	norms [][2]int32
	chars []segment.Character
	ids   table // folded word -> provisional id of its stem
	stems table
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// table maps hashes to numbers. The hashes are xxhash values, with low bits as good as any.
type table struct {
	keys []uint64
	vals []int32 // 0 means no key
}

// reset empties t and makes room for the given number of keys.
func (t *table) reset(keys int) {
	size := 1 << bits.Len(uint(2*keys))
	if len(t.keys) < size || len(t.keys) > 16*size {
		t.keys, t.vals = make([]uint64, size), make([]int32, size)
	} else {
		clear(t.vals)
	}
}

// slot returns a pointer to a key's value, which is 0 if the key is new. The key is then in the table, and its value must be set. slot
// must not be called with more keys than reset made room for.
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

// cut converts sentences to units.
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
			// A unit at the end of the text can only be joined to the previous one.
			last := &units[len(units)-1]
			last.last = s.last
			continue
		}
		units = divide(units, words, s)
	}
	return units
}

// divide appends s, split into pieces of at most maxChars letters. It splits before the last word after a clause mark if that leaves the
// piece at least a quarter of maxChars, otherwise between any two words.
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

// weigh computes terms, spread and entries.
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
		if i > 0 { // one mark is possible between the previous word and the next
			u.start = max(u.start, t.units[i-1].end)
		}
	}
}

// rank sorts the hashes of stems into terms, and replaces the provisional ids in of with ranks.
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

// mutedTerm replaces the stem of a word excluded from comparison.
const mutedTerm = -1

// maxMarks is the maximum amount of punctuation attached to a passage's first and last word.
const maxMarks = 3

// span returns the span of words [first, last) with outer punctuation: quotation marks and brackets before, full stops and the like
// after.
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
