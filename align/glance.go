package align

import (
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat/segment"
)

// Glance is a text prepared for quick looks at many others, to see which of them can contain a passage of it at all. A look costs about a
// fifth of [Prepare] and [Pair], and does not segment Chinese words. A Glance is immutable; each goroutine needs its own [Looker].
type Glance struct {
	blocks  int
	words   map[uint32]*glanced
	numbers int      // number of words, including those left out
	known   []uint64 // a bit per word, because most words of another text are absent
	grams   []uint64 // a bit per run of glanceGram words
}

// glanced is a word of the text and the blocks that contain it.
type glanced struct {
	number int32
	at     []int32
}

const (
	// LeastGlance is the minimum result of [Looker.Look] at which two texts are worth comparing. It was chosen on a third of the
	// documents in PAN 2013's training corpus; doc/evaluation/retrieval.md states its cost on the others.
	LeastGlance = 6

	// glanceLetters is the length of a block. Any passage of that length fits in two adjacent blocks of each text.
	glanceLetters = 180
	// glanceBlocks is the maximum number of blocks that can contain a word for it to count, because a ubiquitous word does not help to
	// find a place.
	glanceBlocks = 8
	// glancePrefix is the number of leading bytes that distinguish words, roughly the stem.
	glancePrefix = 6
	// glanceGram is the number of words in a run. glanceRun is the number of letters at which consecutive equal runs are a copy, the
	// minimum that Pair reports to people.
	glanceGram = 4
	glanceRun  = 40
)

// NewGlance returns a glance of text. A text refused by [segment.Split] has no word in common with any other.
func NewGlance(text string) *Glance {
	g := &Glance{words: map[uint32]*glanced{}}
	var t segment.Text
	if t.Skim(text) != nil {
		return g
	}
	size := max(1<<10, 1<<bits.Len(uint(len(text)*4)))
	g.known, g.grams = make([]uint64, size/64), make([]uint64, size/64)
	var run gramRun
	g.blocks = skim(&t, func(w skimmed) {
		if gram, ok := run.next(w.hash); ok {
			set(g.grams, gram)
		}
		if w.stop {
			return
		}
		x := g.words[w.stem]
		if x == nil {
			x = &glanced{number: int32(g.numbers)}
			g.words[w.stem] = x
			g.numbers++
			set(g.known, w.stem)
		}
		if n := len(x.at); n <= glanceBlocks && (n == 0 || x.at[n-1] != w.block) {
			x.at = append(x.at, w.block)
		}
	})
	for stem, w := range g.words {
		if len(w.at) > glanceBlocks {
			delete(g.words, stem)
		}
	}
	return g
}

func set(bitmap []uint64, hash uint32) {
	hash &= uint32(len(bitmap)*64 - 1)
	bitmap[hash/64] |= 1 << (hash % 64)
}

func isSet(bitmap []uint64, hash uint32) bool {
	hash &= uint32(len(bitmap)*64 - 1)
	return bitmap[hash/64]>>(hash%64)&1 != 0
}

// gramRun computes hashes of the last glanceGram words.
type gramRun struct {
	last [glanceGram]uint32
	n    int
}

func (r *gramRun) next(hash uint32) (gram uint32, ok bool) {
	copy(r.last[:], r.last[1:])
	r.last[glanceGram-1] = hash
	r.n++
	h := uint64(0)
	for _, x := range r.last {
		h = (h + uint64(x)) * gramBase
	}
	return uint32(h >> 32), r.n >= glanceGram
}

// Looker looks at other texts for a Glance. It is not safe for concurrent use.
type Looker struct {
	g         *Glance
	text      segment.Text
	shared    []glancedIn
	spread    []int32 // for each word number, the blocks of the other text that contain it
	held      []int32 // last of them, plus 1
	now, last []float32
}

// glancedIn is a word of a Glance that occurs in a block of another text.
type glancedIn struct {
	w     *glanced
	block int32
}

// Looker returns a Looker of g.
func (g *Glance) Looker() *Looker {
	return &Looker{g: g, spread: make([]int32, g.numbers), held: make([]int32, g.numbers), now: make([]float32, g.blocks+1),
		last: make([]float32, g.blocks+1)}
}

// Look returns how much the most similar places in both texts share. A place consists of about two blocks of each text, and words count
// as if they occurred in only one block. The result is infinite if the texts share a run of words long enough to be a passage on its own.
// Pairs below [LeastGlance] contain no passage, except very few that barely qualify. The time is linear in the text.
func (l *Looker) Look(text string) float64 {
	if len(l.g.words) == 0 || l.text.Skim(text) != nil {
		return 0
	}
	blocks, copied := l.read()
	if copied {
		return math.Inf(1)
	}
	return l.most(blocks)
}

// read collects the words that l.text shares with the glance and returns the number of blocks in l.text; copied reports whether there is
// a long equal run.
func (l *Looker) read() (blocks int, copied bool) {
	clear(l.spread)
	clear(l.held)
	l.shared = l.shared[:0]
	var run gramRun
	var before [glanceGram]int32 // letters in the last words
	length := int32(0)           // length of the current run of equal grams
	blocks = skim(&l.text, func(w skimmed) {
		copy(before[:], before[1:])
		before[glanceGram-1] = w.letters
		switch gram, ok := run.next(w.hash); {
		case !ok || !isSet(l.g.grams, gram):
			length = 0
		case length > 0:
			length += w.letters
		default:
			for _, n := range before {
				length += n
			}
		}
		copied = copied || length >= glanceRun
		if w.stop || !isSet(l.g.known, w.stem) {
			return
		}
		x := l.g.words[w.stem]
		if x == nil || l.held[x.number] == w.block+1 {
			return
		}
		l.held[x.number] = w.block + 1
		l.spread[x.number]++
		l.shared = append(l.shared, glancedIn{x, w.block})
	})
	return blocks, copied
}

// most returns the maximum worth of the words shared by two adjacent blocks of one text and two of the other.
func (l *Looker) most(blocks int) float64 {
	const background = 20 // see Options
	scale := 1 / math.Log(float64(blocks+l.g.blocks+background)/2)
	clear(l.now)
	clear(l.last)
	best, k := float32(0), 0
	for block := int32(0); int(block) <= blocks; block++ {
		for ; k < len(l.shared) && l.shared[k].block == block; k++ {
			w := l.shared[k].w
			held := float64(int(l.spread[w.number])+len(w.at)) / 2
			worth := float32(1 - math.Log(held)*scale)
			for _, at := range w.at {
				l.now[at] += worth
			}
		}
		for i := 0; i < l.g.blocks; i++ {
			best = max(best, l.now[i]+l.now[i+1]+l.last[i]+l.last[i+1])
		}
		l.now, l.last = l.last, l.now
		clear(l.now)
	}
	return float64(best)
}

// skimmed is a word, or a pair of characters in a run without spaces.
type skimmed struct {
	stem, hash uint32
	block      int32
	letters    int32 // as counted by Options.LeastVerbatim
	stop       bool
}

// skim calls each with the words of t and returns the number of blocks.
func skim(t *segment.Text, each func(skimmed)) int {
	language := t.Language()
	letters, block := int32(0), int32(0)
	count := func(n int32) {
		if letters += n; letters >= glanceLetters {
			block, letters = block+1, 0
		}
	}
	for i := range t.Words {
		w := &t.Words[i]
		norm := t.Folded(i)
		if w.Flags&(segment.Han|segment.Syllabic|segment.Unspaced) == 0 {
			stem := uint32(xxhash.Sum64(norm[:min(len(norm), glancePrefix)]))
			each(skimmed{stem, uint32(w.Hash), block, int32(w.Chars), w.Stop&language != 0 || len(norm) == 1})
			count(int32(w.Chars))
			continue
		}
		_, first := utf8.DecodeRune(norm)
		for at, next := 0, first; next < len(norm); {
			_, n := utf8.DecodeRune(norm[next:])
			pair := uint32(xxhash.Sum64(norm[at : next+n]))
			each(skimmed{pair, pair, block, 2, false})
			at, next = next, next+n
			count(hanWeight)
		}
	}
	return int(block) + 1
}
