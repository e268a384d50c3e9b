package segment

import (
	"bufio"
	"bytes"
	"embed"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// The stop lists come from the Snowball project as shipped with Bleve, one word per line; zh.txt is our own. Every scheme depends on
// them.
//
//go:embed data/stop/*.txt
var stopFiles embed.FS

// filterBits makes the filter 8 KiB, which fits in the first-level cache. The filter alone decides most words, since they are in no list.
const filterBits = 16

// stopTable maps the hash of a folded word to the languages whose lists contain it.
type stopTable struct {
	languages []string
	hashes    []uint64 // open addressing; zero is free
	masks     []uint32
	any       [1 << filterBits / 64]uint64 // bit h >> (64-filterBits) is set for every listed hash h
	han       map[uint64]bool              // Chinese words and single characters
	anyHan    [1 << filterBits / 64]uint64
	shift     int
	english   uint32 // bit of the English list
}

var stopLists = sync.OnceValue(newStopTable)

// Languages returns the codes of the languages with a stop list, in the order of Word.Stop's bits. It does not include Chinese, since
// Chinese words have their own flag.
func Languages() []string { return slices.Clone(stopLists().languages) }

func newStopTable() *stopTable {
	entries, err := stopFiles.ReadDir("data/stop")
	if err != nil {
		panic(err) // the lists are embedded
	}
	t := &stopTable{han: map[uint64]bool{}}
	all := map[uint64]uint32{}
	for _, e := range entries {
		lang := strings.TrimSuffix(e.Name(), ".txt")
		b, err := stopFiles.ReadFile("data/stop/" + e.Name())
		if err != nil {
			panic(err) // the list is embedded
		}
		var bit uint32
		if lang != "zh" {
			bit = 1 << len(t.languages)
			if lang == "en" {
				t.english = bit
			}
			t.languages = append(t.languages, lang)
		}
		sc := bufio.NewScanner(bytes.NewReader(b))
		for sc.Scan() {
			for _, h := range foldedHashes(sc.Text()) {
				if lang == "zh" {
					t.han[h] = true
					setFilter(&t.anyHan, h)
				} else {
					all[h] |= bit
				}
			}
		}
	}
	size := 1 << bits.Len(uint(4*len(all)))
	t.shift = 64 - bits.Len(uint(size-1))
	t.hashes, t.masks = make([]uint64, size), make([]uint32, size)
	for h, m := range all {
		i := h >> t.shift
		for t.hashes[i] != 0 {
			i = (i + 1) & uint64(size-1)
		}
		t.hashes[i], t.masks[i] = h, m
		setFilter(&t.any, h)
	}
	return t
}

// mask returns the languages whose stop lists contain the word of the given hash.
func (t *stopTable) mask(h uint64) uint32 {
	if !inFilter(&t.any, h) {
		return 0
	}
	for i := h >> t.shift; t.hashes[i] != 0; i = (i + 1) & uint64(len(t.hashes)-1) {
		if t.hashes[i] == h {
			return t.masks[i]
		}
	}
	return 0
}

// isHan reports whether the Chinese stop list contains the word or character of the given hash.
func (t *stopTable) isHan(h uint64) bool { return inFilter(&t.anyHan, h) && t.han[h] }

func setFilter(f *[1 << filterBits / 64]uint64, h uint64) {
	h >>= 64 - filterBits
	f[h/64] |= 1 << (h % 64)
}

// inFilter reports whether h might be listed.
func inFilter(f *[1 << filterBits / 64]uint64, h uint64) bool {
	h >>= 64 - filterBits
	return f[h/64]>>(h%64)&1 != 0
}

// foldedHashes returns the hashes of a listed word, folded as Split would fold it, in several pieces if punctuation divides it.
func foldedHashes(word string) []uint64 {
	t := &Text{Source: word}
	s := splitter{t: t, runes: runes(), stop: &stopTable{hashes: make([]uint64, 2), shift: 63}, start: -1}
	s.run()
	var out []uint64
	for _, w := range t.Words {
		out = append(out, xxhash.Sum64(t.Norm[w.NormStart:w.NormEnd]))
	}
	return out
}

// abbreviations lists folded words after which a full stop does not end a sentence. True means never, and false means not before a
// number.
var abbreviations = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`mr mrs ms dr prof st messrs gen col capt lt sgt rev hon pres gov sen rep
		vs cf eg ie viz approx ca resp incl excl dept univ assn bros jr sr ph mt ft av ave blvd
		jan feb mar apr jun jul aug sept sep oct nov dec
		bzw usw vgl evtl ggf bspw str abs nr bd hrsg aufl mme mlle cie art ed eds trans transl repr
		gl tj tab tel abb ref refs u.a`) {
		m[w] = true
	}
	for _, w := range strings.Fields(`no nos vol vols pp p pg fig figs eq eqs sec secs ch chap app al etc par para
		ex item par sect cl tab art arts pt pts p s ss q v`) {
		if _, ok := m[w]; !ok {
			m[w] = false
		}
	}
	return m
}()
