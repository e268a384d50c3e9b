package screen

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat/segment"
)

// Measure is a similarity measure for short texts.
type Measure int

const (
	Jaccard Measure = iota // |A∩B| / |A∪B| of their grams, counting repeats
	Cosine                 // |A∩B| / √(|A|·|B|) of their grams, counting repeats
	Edit                   // 1 - edit distance / letters of the longer (Levenshtein 1966)
)

// ShortOptions define how short texts are compared.
type ShortOptions struct {
	// Grams are the lengths, in letters or words, of the runs to index; nil means the lengths that [GramsOf] uses for each text, or 1 and
	// 2 for words. Longer grams produce fewer candidates, but a pair without a common gram is never found, whatever the measure.
	Grams     []int
	Measure   Measure
	Threshold float64 // minimum similarity, greater than 0 and at most 1; the default is 0.4
	// Edits also finds texts at most this many edits apart, regardless of the measure, because in a text of few letters, two edits leave
	// little to measure. At most half the letters of the longer text may be edited. If Edits is 0, only the measure counts.
	Edits int
	// Words uses grams of words instead of letters; texts must have spaces between words. An edit can change how a text divides into
	// words, so Words cannot be combined with Edit or Edits.
	Words bool
}

// Short finds all pairs of similar texts, at or above the threshold, among many short ones, using an inverted index of grams. It indexes
// and looks up only the rarest grams of each text, as many as needed so that texts without a common one cannot be similar enough (prefix
// filter; Chaudhuri, Ganti and Kaushik 2006). It then measures texts that share one exactly. It is immutable and safe for concurrent use.
type Short struct {
	o      ShortOptions
	rank   map[uint64]uint32 // rank of each gram, rarest first
	texts  []shortText
	lists  [][]uint32 // by rank: texts with the gram among their rarest, ascending
	loose  []uint32   // texts for which the filter guarantees nothing about edits; compared with all texts of similar length too
	length []uint32   // all texts by number of letters
}

type shortText struct {
	letters []rune
	lengths []int    // lengths of its grams
	grams   []uint64 // grams, each with the number of equal ones before it; nil once ranked
	size    int      // number of grams
	bitmap  bitmap   // bitmap of its grams
	ranks   []uint32 // ranks of its indexed grams, ascending: rarest first
	prefix  int      // number of ranks that are rare enough
	dense   int      // number of letters that make its grams 1 and 2 long by default
	loose   bool     // whether the filter guarantees nothing about edits
}

// ShortHit is a text at or above the threshold.
type ShortHit struct {
	ID         int
	Similarity float64
}

// Letters returns the folded letters of a text without spaces, the form that Short compares.
func Letters(t *segment.Text) string {
	out := make([]byte, 0, len(t.Norm))
	for _, c := range t.Norm {
		if c != ' ' {
			out = append(out, c)
		}
	}
	return string(out)
}

// Words returns the folded words of a text separated by spaces, the form that Short compares if Words is set.
func Words(t *segment.Text) string {
	var b strings.Builder
	for i, w := range t.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(t.Source[w.Start:w.End]))
	}
	return b.String()
}

// NewShort indexes texts in the form returned by Letters or Words; a text's number is its index. Empty texts are never found.
func NewShort(texts []string, o ShortOptions) (*Short, error) {
	if o.Grams == nil && o.Words {
		o.Grams = denseGrams
	}
	if o.Threshold == 0 {
		o.Threshold = 0.4
	}
	if !(o.Threshold > 0 && o.Threshold <= 1) || o.Grams != nil && (len(o.Grams) == 0 || slices.Min(o.Grams) < 1) ||
		o.Measure < Jaccard || o.Measure > Edit || o.Edits < 0 || o.Words && (o.Measure == Edit || o.Edits > 0) {
		return nil, fmt.Errorf("short texts: invalid options: threshold %v, grams %v, measure %d, %d edits; want a threshold above 0 and at most 1, gram lengths of at least 1, a known measure, and no edits in word mode", o.Threshold, o.Grams, o.Measure, o.Edits)
	}
	if int64(len(texts)) > math.MaxUint32 {
		return nil, fmt.Errorf("short texts: %w: cannot compare %d texts at once: the maximum is %d", ErrMemory, len(texts), uint32(math.MaxUint32))
	}
	s := &Short{o: o, texts: make([]shortText, len(texts))}
	count := map[uint64]uint32{}
	for i, text := range texts {
		s.texts[i] = s.cut(text)
		for _, g := range s.texts[i].grams {
			count[g]++
		}
	}
	s.order(count)
	for i := range s.texts {
		t := &s.texts[i]
		s.place(t)
		for _, r := range t.ranks[:t.prefix] {
			s.lists[r] = append(s.lists[r], uint32(i))
		}
		if t.loose && t.size > 0 {
			s.loose = append(s.loose, uint32(i))
		}
		s.length = append(s.length, uint32(i))
	}
	slices.SortStableFunc(s.length, s.byLength)
	slices.SortStableFunc(s.loose, s.byLength)
	return s, nil
}

func (s *Short) byLength(a, b uint32) int {
	return cmp.Compare(len(s.texts[a].letters), len(s.texts[b].letters))
}

// order ranks the grams, rarest first.
func (s *Short) order(count map[uint64]uint32) {
	all := make([]uint64, 0, len(count))
	for g := range count {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b uint64) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b)) })
	s.rank = make(map[uint64]uint32, len(all))
	for i, g := range all {
		s.rank[g] = uint32(i)
	}
	s.lists = make([][]uint32, len(all))
}

// cut returns a text's letters and grams. The k-th occurrence of a gram is a separate gram, so sets of grams count repeats.
func (s *Short) cut(text string) shortText {
	t := shortText{letters: []rune(text), lengths: s.o.Grams}
	if t.lengths == nil {
		t.lengths, t.dense = gramsFor(t.letters)
	}
	if !utf8.ValidString(text) {
		text = string(t.letters)
	}
	var words []uint64
	if s.o.Words {
		for w := range strings.FieldsSeq(text) {
			words = append(words, xxhash.Sum64String(w))
		}
	}
	for _, m := range t.lengths {
		from := len(t.grams)
		if s.o.Words {
			t.grams = appendRuns(words, m, t.grams)
		} else {
			t.grams = appendGrams([]byte(text), m, t.grams)
		}
		for i := range t.grams[from:] {
			t.grams[from+i] ^= uint64(m) * 0x9e3779b97f4a7c15 // distinguishes a short text from a gram of its length
		}
	}
	slices.Sort(t.grams)
	t = numbered(t)
	for _, g := range t.grams {
		t.bitmap.add(g)
	}
	return t
}

// numbered makes the k-th of equal grams, for k > 0, different from the others.
func numbered(t shortText) shortText {
	run := 0
	for i := 1; i <= len(t.grams); i++ {
		if i < len(t.grams) && t.grams[i] == t.grams[run] {
			continue
		}
		for k := run + 1; k < i; k++ {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], t.grams[run])
			t.grams[k] = xxhash.Sum64(binary.AppendUvarint(b[:], uint64(k-run)))
		}
		run = i
	}
	return t
}

// place ranks the grams of a text and sets its prefix to one more than the number of its grams that a similar text can lack. Grams not in
// the index are the rarest.
func (s *Short) place(t *shortText) {
	n := len(t.grams)
	t.size = n
	t.ranks = make([]uint32, 0, n)
	for _, g := range t.grams {
		if r, ok := s.rank[g]; ok {
			t.ranks = append(t.ranks, r)
		}
	}
	t.grams = nil
	slices.Sort(t.ranks)
	// The values are slightly reduced, so that rounding cannot raise the required number.
	var shared, edits int
	switch s.o.Measure {
	case Jaccard: // |A∩B| ≥ t·|A∪B| ≥ t·|A|
		shared = int(math.Ceil(s.o.Threshold*float64(n) - 1e-9))
	case Cosine: // |A∩B| ≥ t·√(|A|·|B|), and |B| ≥ |A∩B|, so ≥ t²·|A|
		shared = int(math.Ceil(s.o.Threshold*s.o.Threshold*float64(n) - 1e-9))
	case Edit:
		// The longer text of a similar pair has at most l/t letters, so the two are at most e edits apart.
		edits = int((1-s.o.Threshold)*float64(len(t.letters))/s.o.Threshold + 1e-9)
		shared = n - touched(t, edits)
	}
	within := shared
	if s.o.Edits > 0 {
		// The longer text has at most this many more letters, and at most half of them are edited.
		few := min(s.o.Edits, (len(t.letters)+s.o.Edits)/2)
		edits, within = max(edits, few), min(shared, n-touched(t, few))
	}
	// Without its few dense letters, a text would have grams of different lengths.
	if t.loose = within < 1 || t.dense > 0 && t.dense <= edits; !t.loose {
		shared = within
	}
	if shared > 0 {
		unknown := n - len(t.ranks)
		t.prefix = max(0, n-shared+1-unknown)
	}
}

// touched returns how many grams of a text the given number of edits can change. Each edit changes m grams of length m.
func touched(t *shortText, edits int) int {
	n, size := 0, len(t.letters)
	for _, m := range t.lengths {
		n += m * edits
		if size < m {
			n++ // its only gram is the whole text
		}
	}
	return n
}

// Near appends to dst the texts similar to the given one, most similar first, then by ID, and returns the number of texts that it
// measured.
func (s *Short) Near(text string, dst []ShortHit) (hits []ShortHit, measured int) {
	t := s.cut(text)
	s.place(&t)
	return s.near(&t, 0, 0, 1, nil, dst)
}

// Pairs calls emit with every pair of texts a < b at or above the threshold with a in [split, end), or with all pairs if both are 0,
// ordered by a, then descending similarity. It stops if emit returns false, and returns the number of pairs measured. Several calls can
// divide the work.
func (s *Short) Pairs(split, end int, emit func(a, b int, similarity float64) bool) (measured int) {
	return s.pairs(split, end, 0, 1, emit)
}

func (s *Short) pairs(split, end, part, parts int, emit func(a, b int, similarity float64) bool) (measured int) {
	if end == 0 {
		end = len(s.texts)
	}
	var hits []ShortHit
	seen := make([]uint64, (len(s.texts)+63)/64)
	for a := split; a < end; a++ {
		var n int
		hits, n = s.near(&s.texts[a], a+1, part, parts, seen, hits[:0])
		measured += n
		for _, h := range hits {
			if !emit(a, h.ID, h.Similarity) {
				return measured
			}
		}
	}
	return measured
}

// near finds similar texts numbered least or higher, in all parts of the grams or in one. The first gram that both texts have among
// their rarest determines the part. seen has a bit for each text, all 0 before and after the call, or is nil.
func (s *Short) near(t *shortText, least, part, parts int, seen []uint64, dst []ShortHit) ([]ShortHit, int) {
	ids := s.loose
	if t.loose {
		ids = s.length
	}
	candidates := s.ofLength(nil, ids, len(t.letters))
	slices.Sort(candidates)
	shared := s.sharing(t, least, part, parts, seen, candidates)
	if parts > 1 {
		candidates = slices.DeleteFunc(candidates, func(c uint32) bool { return int(c)%parts != part })
	}
	apart := len(candidates)
	candidates = append(candidates, shared...)
	start, measured := len(dst), 0
	for i, c := range candidates {
		other := &s.texts[c]
		if int(c) < least || !s.sizeFits(t, other) || !s.bitmapFits(t, other) {
			continue
		}
		if i >= apart && parts > 1 && int(firstShared(t, other))%parts != part {
			continue
		}
		measured++
		v := s.similarity(t, other, s.least(t.size, other.size))
		if v < s.o.Threshold {
			if !s.edited(t, other) {
				continue
			}
			v = s.similarity(t, other, 0)
		}
		dst = append(dst, ShortHit{int(c), v})
	}
	slices.SortFunc(dst[start:], func(a, b ShortHit) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID))
	})
	return dst, measured
}

// sharing returns the texts numbered least or higher whose rarest grams include one of t's rarest grams in the part, each once,
// except the texts of apart, which must be ascending.
func (s *Short) sharing(t *shortText, least, part, parts int, seen []uint64, apart []uint32) (out []uint32) {
	if seen == nil {
		for _, r := range t.ranks[:t.prefix] {
			if parts == 1 || int(r)%parts == part {
				out = append(out, s.from(r, uint32(least))...)
			}
		}
		slices.Sort(out)
		return slices.DeleteFunc(slices.Compact(out), func(c uint32) bool {
			_, is := slices.BinarySearch(apart, c)
			return is
		})
	}
	for _, r := range t.ranks[:t.prefix] {
		if parts > 1 && int(r)%parts != part {
			continue
		}
		for _, c := range s.from(r, uint32(least)) {
			seen[c>>6] |= 1 << (c & 63)
		}
	}
	for _, c := range apart {
		seen[c>>6] &^= 1 << (c & 63)
	}
	for i := least >> 6; i < len(seen); i++ {
		for word := seen[i]; word != 0; word &= word - 1 {
			out = append(out, uint32(i<<6+bits.TrailingZeros64(word)))
		}
		seen[i] = 0
	}
	return out
}

// from returns the texts numbered least or higher that have a gram among their rarest.
func (s *Short) from(rank, least uint32) []uint32 {
	list := s.lists[rank]
	at, _ := slices.BinarySearch(list, least)
	return list[at:]
}

// firstShared returns the rarest gram among the rarest of both texts, which must have one in common.
func firstShared(a, b *shortText) uint32 {
	x, y := a.ranks[:a.prefix], b.ranks[:b.prefix]
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] < y[j]:
			i++
		case x[i] > y[j]:
			j++
		default:
			return x[i]
		}
	}
	return 0
}

// edited reports whether two texts are within the allowed number of edits.
func (s *Short) edited(a, b *shortText) bool {
	most := min(s.o.Edits, max(len(a.letters), len(b.letters))/2)
	return most > 0 && editsWithin(a.letters, b.letters, most)
}

// ofLength appends the texts of ids, in order of length, whose lengths are close enough to n letters for the allowed edits. For other
// measures, it appends none.
func (s *Short) ofLength(dst, ids []uint32, n int) []uint32 {
	low, high := math.Inf(1), math.Inf(-1)
	if s.o.Measure == Edit && n > 0 {
		low, high = s.o.Threshold*float64(n)-1e-9, float64(n)/s.o.Threshold+1e-9
	}
	if s.o.Edits > 0 && n > 0 {
		low, high = min(low, float64(n-s.o.Edits)), max(high, float64(n+s.o.Edits))
	}
	from, _ := slices.BinarySearchFunc(ids, low, func(id uint32, l float64) int {
		return cmp.Compare(float64(len(s.texts[id].letters)), l)
	})
	for _, id := range ids[from:] {
		if float64(len(s.texts[id].letters)) > high {
			break
		}
		dst = append(dst, id)
	}
	return dst
}

// sizeFits reports whether the sizes allow the threshold.
func (s *Short) sizeFits(a, b *shortText) bool {
	if d := len(a.letters) - len(b.letters); max(d, -d) <= s.o.Edits {
		return s.o.Edits > 0 || s.measureFits(a, b)
	}
	return s.measureFits(a, b)
}

func (s *Short) measureFits(a, b *shortText) bool {
	x, y, t := float64(a.size), float64(b.size), s.o.Threshold
	switch s.o.Measure {
	case Cosine:
		t *= t
	case Edit:
		x, y = float64(len(a.letters)), float64(len(b.letters))
	}
	return min(x, y) >= t*max(x, y)-1e-9
}

// least returns how many grams texts with the given numbers of grams must share to reach the threshold.
func (s *Short) least(x, y int) int {
	t := s.o.Threshold
	switch s.o.Measure {
	case Jaccard: // c ≥ t·(x+y-c)
		return int(math.Ceil(t/(1+t)*float64(x+y) - 1e-9))
	case Cosine:
		return int(math.Ceil(t*math.Sqrt(float64(x)*float64(y)) - 1e-9))
	}
	return 0
}

// similarity returns the similarity of two texts. It can return 0 if they do not have least grams in common.
func (s *Short) similarity(a, b *shortText, least int) float64 {
	if s.o.Measure == Edit {
		longer := max(len(a.letters), len(b.letters))
		if longer == 0 {
			return 0
		}
		return 1 - float64(editDistance(a.letters, b.letters))/float64(longer)
	}
	x, y := float64(a.size), float64(b.size)
	common := float64(common(a.ranks, b.ranks, least))
	if common == 0 {
		return 0
	}
	if s.o.Measure == Cosine {
		return common / math.Sqrt(x*y)
	}
	return common / (x + y - common)
}

// common returns the number of grams in both; it can return 0 if that is less than least.
func common(a, b []uint32, least int) int {
	n, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
			continue
		}
		if n+min(len(a)-i, len(b)-j) < least {
			return 0
		}
	}
	return n
}
