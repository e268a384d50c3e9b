package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"concordat"
	"concordat/minhash"
	"concordat/segment"
	"concordat/simhash"
)

// The built-in recipes.
const (
	Natural        = "natural"         // natural blocks, b-bit minwise with b = 4
	Packed         = "packed"          // blocks packed to about 150 characters, b = 4
	NaturalB1      = "natural-b1"      // 100 hashes with b = 1, the base paper's parameters, for comparison
	NaturalB2      = "natural-b2"      // 50 hashes with b = 2, for comparison
	NaturalSimhash = "natural-simhash" // natural blocks, simhash by term frequency
	PackedSimhash  = "packed-simhash"  // packed blocks, simhash
)

// Names returns the names of the built-in recipes, the default first.
func Names() []string {
	return []string{Natural, Packed, NaturalB1, NaturalB2, NaturalSimhash, PackedSimhash}
}

// leastFeatures is the minimum number of distinct features of a fingerprinted block, because with fewer, unrelated blocks coincide too
// often for a match to be meaningful.
const leastFeatures = 3

// These are nomination thresholds in bits, inclusive. At most one unrelated pair in 100,000 is within the threshold.
const (
	gateWords   = 26
	gateChinese = 22
)

// These are the same thresholds in differing hashes, for recipes with four bits per hash. Unequal hashes differ in a random number of
// bits, so a threshold in hashes separates related sentences from others better. With the same number of unrelated pairs, it nominates a
// third of the document pairs that a threshold in bits misses (doc/evaluation/align.md).
const (
	gateHashes        = 14
	gateHashesChinese = 13
)

// MaxGate is the largest gate of any sentence, in bits. Queries to an index use this distance. Each sentence's own gate is applied
// afterwards.
const MaxGate = gateWords

// Options configures a Profiler.
type Options struct {
	// Recipe is the name of a built-in recipe; the default is Natural.
	Recipe string
	// Key makes the fingerprints depend on a secret. Without it, no one can determine whether a site has a given sentence or what a
	// fingerprint represents. Sites in one federation epoch share a key of 32 random bytes. An empty key makes the fingerprints public.
	Key []byte
	// Meaning makes ForIndex add the cells of sentences to the terms, so that a check also finds documents that say the same in other
	// words or in another language.
	Meaning bool
}

// Profiler computes profiles. It is safe for concurrent use.
type Profiler struct {
	scheme   concordat.Scheme
	packing  segment.Packing
	sketcher concordat.Sketcher
	prf      *prf // if nil, features are passed to the sketcher unchanged
	simhash  bool
	hashes   bool                  // the sketch has four bits per hash, and distances are counted in hashes
	scratch  sync.Pool             // of *scratch
	cells    atomic.Pointer[cells] // nil if no cells are computed
}

type scratch struct {
	text     segment.Text
	features []uint64
	found    []uint32 // terms
	sorted   []uint32 // memory for sorting them
}

// New returns a Profiler for the given recipe, or concordat.ErrInvalid if the name is unknown.
func New(o Options) (*Profiler, error) {
	if o.Recipe == "" {
		o.Recipe = Natural
	}
	if !slices.Contains(Names(), o.Recipe) {
		return nil, fmt.Errorf("scheme %q: %w: valid schemes are %s", o.Recipe, concordat.ErrInvalid, strings.Join(Names(), ", "))
	}
	p := &Profiler{packing: segment.Natural}
	p.scratch.New = func() any { return &scratch{} }
	if strings.HasPrefix(o.Recipe, "packed") {
		p.packing = segment.Packed
	}
	p.prf = newPRF(o.Key)
	if p.simhash = strings.HasSuffix(o.Recipe, "-simhash"); p.simhash {
		p.sketcher = simhash.New(o.Key)
	} else {
		b := 4
		switch o.Recipe {
		case NaturalB1:
			b = 1
		case NaturalB2:
			b = 2
		}
		p.hashes = b == 4
		s, err := minhash.New(b, o.Key)
		if err != nil {
			return nil, err
		}
		p.sketcher = s
	}
	p.scheme = schemeOf(o.Recipe, p.packing, o.Key)
	return p, p.SetMeaning(o.Meaning)
}

// schemeOf returns the name of a recipe with the digest of everything on which its fingerprints depend.
func schemeOf(recipe string, packing segment.Packing, key []byte) concordat.Scheme {
	h := sha256.New()
	keyed := sha256.Sum256(append([]byte("concordat/scheme-key\x00"), key...))
	fmt.Fprintf(h, "concordat/scheme/1\n%s\nsegment %s\npacking %+v\nleast %d\nkey %x\n",
		recipe, segment.Digest(), packing, leastFeatures, keyed[:8])
	if len(key) > 0 {
		fmt.Fprintln(h, prfName)
	}
	return concordat.Scheme(recipe + "@" + hex.EncodeToString(h.Sum(nil))[:16])
}

// Scheme returns the recipe's name and digest.
func (p *Profiler) Scheme() concordat.Scheme { return p.scheme }

// Profile fingerprints a document for a check, with both its indexed and its asked sentences, and the windows for text queries. template
// finds the document's sections and can exclude some; if it is nil, there are no sections. Profile fails only if the text is larger than
// segment.MaxBytes or the Chinese dictionaries cannot be loaded.
func (p *Profiler) Profile(d concordat.Document, template *segment.Template) (*concordat.Profile, error) {
	return p.profile(d, template, true)
}

// ForIndex is like Profile, but with the terms of the text and without sections, asked sentences and windows. It computes only what an
// index needs.
func (p *Profiler) ForIndex(d concordat.Document) (*concordat.Profile, error) {
	return p.ForLibrary(d, true)
}

// ForLibrary is like ForIndex for a library that may be excluded from indexing by meaning. In that case, its documents are recorded as
// having no cells.
func (p *Profiler) ForLibrary(d concordat.Document, meant bool) (*concordat.Profile, error) {
	out, err := p.profile(d, nil, false)
	c := p.cells.Load()
	if err != nil || c == nil {
		return out, err
	}
	out.Cells = []concordat.Cell{}
	if meant {
		out.Cells = c.of(d.Text)
	}
	return out, nil
}

func (p *Profiler) profile(d concordat.Document, template *segment.Template, asking bool) (*concordat.Profile, error) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	if err := s.text.Split(d.Text); err != nil {
		return nil, fmt.Errorf("document %s: %w", d.ID, err)
	}
	defer func() { s.text.Source = "" }()
	out := &concordat.Profile{Document: d, Scheme: p.scheme, Characters: s.text.Chars()}
	var excluded []bool
	for _, sec := range template.Find(d.Text) {
		out.Sections = append(out.Sections, concordat.Section{Name: sec.Name, Span: concordat.Span(sec.Span)})
		excluded = append(excluded, sec.Skip)
	}
	packing := p.packing
	packing.Overlap = packing.Overlap && asking
	indexed, asked, skipped := s.text.Blocks(packing)
	for _, sp := range skipped {
		out.Skipped = append(out.Skipped, concordat.Skipped{Span: concordat.Span(sp), Reason: concordat.SkipShort})
	}
	out.Indexed = make([]concordat.Sentence, 0, len(indexed))
	for _, b := range indexed {
		sentence, reason := p.sentence(s, b, out.Sections, excluded)
		if reason != "" {
			out.Skipped = append(out.Skipped, concordat.Skipped{Span: sentence.Span, Reason: reason})
			continue
		}
		out.Indexed = append(out.Indexed, sentence)
	}
	slices.SortFunc(out.Skipped, func(a, b concordat.Skipped) int { return a.Span.Start - b.Span.Start })
	if asking && asked != nil {
		out.Asked = p.ask(s, asked, out.Indexed, out.Sections, excluded)
	}
	if asking {
		out.Windows = s.windows(out.Sections, excluded)
	} else {
		out.Terms = s.terms()
	}
	out.Short = s.short(out.Sections, excluded)
	title, err := s.title(d.Title) // this is the last use of the split text
	if err != nil {
		return nil, fmt.Errorf("title of document %s: %w", d.ID, err)
	}
	out.Short = append(title, out.Short...)
	return out, nil
}

// Asked returns the spans of the sentences that a check of the text asks about and that want accepts, in text order. They are the spans
// of the Questions of its Profile, found with much less work because nothing is fingerprinted. It fails under the same conditions as
// Profile.
func (p *Profiler) Asked(text string, want func(concordat.Span) bool) ([]concordat.Span, error) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	if err := s.text.Split(text); err != nil {
		return nil, err
	}
	defer func() { s.text.Source = "" }()
	indexed, asked, _ := s.text.Blocks(p.packing)
	if asked == nil {
		asked = indexed
	}
	var out []concordat.Span
	for _, b := range asked {
		if !want(concordat.Span(b.Span)) {
			continue
		}
		if s.features, _ = s.text.Features(b, s.features[:0]); distinct(s.features, leastFeatures) {
			out = append(out, concordat.Span(b.Span))
		}
	}
	return out, nil
}

// ask fingerprints the asked blocks and reuses the fingerprints of blocks that are also indexed.
func (p *Profiler) ask(s *scratch, asked []segment.Block, indexed []concordat.Sentence, sections []concordat.Section,
	excluded []bool) []concordat.Sentence {
	out := make([]concordat.Sentence, 0, len(asked))
	i := 0
	for _, b := range asked {
		for i < len(indexed) && indexed[i].Span.Start < b.Span.Start {
			i++
		}
		if i < len(indexed) && indexed[i].Span == concordat.Span(b.Span) {
			out = append(out, indexed[i])
			continue
		}
		if sentence, reason := p.sentence(s, b, sections, excluded); reason == "" {
			out = append(out, sentence)
		}
	}
	return out
}

// sentence fingerprints a block, or returns the reason for skipping it.
func (p *Profiler) sentence(s *scratch, b segment.Block, sections []concordat.Section,
	excluded []bool) (concordat.Sentence, concordat.SkipReason) {
	out := concordat.Sentence{Span: concordat.Span(b.Span), Section: -1, Gate: gateWords}
	for i := range sections {
		if sections[i].Span.Start <= b.Span.Start && b.Span.Start < sections[i].Span.End {
			out.Section = i
			if excluded[i] {
				return out, concordat.SkipSection
			}
			break
		}
	}
	var kind segment.Kind
	s.features, kind = s.text.Features(b, s.features[:0])
	if kind == segment.Chinese || kind == segment.Bigrams {
		out.Gate = gateChinese
	}
	if !distinct(s.features, leastFeatures) {
		return out, concordat.SkipFeatures
	}
	p.prf.apply(s.features)
	out.Fingerprint = p.sketcher.Sketch(s.features)
	return out, ""
}

// distinct reports whether the features include at least n distinct ones.
func distinct(features []uint64, n int) bool {
	seen := make([]uint64, 0, 8)
	for _, f := range features {
		if !slices.Contains(seen, f) {
			if seen = append(seen, f); len(seen) >= n {
				return true
			}
		}
	}
	return false
}

// MaxHashes returns the maximum number of differing hashes at which a sentence can nominate, for use as concordat.Query.MaxHashes. It
// returns 0 for recipes without four bits per hash, which use MaxGate.
func (p *Profiler) MaxHashes() int {
	if p.hashes {
		return gateHashes
	}
	return 0
}

// Nearness returns how close a match is to an asked sentence relative to the sentence's gate. The value 1 means the same fingerprint, and
// a match at 0 or less is outside the gate and nominates nothing. It uses m.Hashes if the recipe has four bits per hash, and otherwise
// m.Distance.
func (p *Profiler) Nearness(asked concordat.Sentence, m concordat.Match) float64 {
	differ, gate := p.differ(asked, m)
	return float64(gate+1-differ) / float64(gate+1)
}

// differ returns the difference between a match and an asked sentence, and the difference that the sentence's gate allows. Both are in
// hashes if the recipe has four bits per hash, and otherwise in bits.
func (p *Profiler) differ(asked concordat.Sentence, m concordat.Match) (differ, gate int) {
	switch {
	case !p.hashes:
		return m.Distance, asked.Gate
	case asked.Gate <= gateChinese:
		return m.Hashes, gateHashesChinese
	}
	return m.Hashes, gateHashes
}

// Margin returns the number of hashes by which a match is within the gate of an asked sentence. The value 0 is at the gate, and a
// negative number is outside. For recipes without four-bit hashes, two bits count as one hash.
func (p *Profiler) Margin(asked concordat.Sentence, m concordat.Match) int {
	differ, gate := p.differ(asked, m)
	if !p.hashes {
		return (gate - differ) / 2
	}
	return gate - differ
}

// Gated reports whether gate, in bits, is a gate that profiles assign to sentences.
func Gated(gate int) bool { return gate == gateWords || gate == gateChinese }

// WritesHan reports whether a sentence with this gate is written in Chinese characters or in another script without spaces.
func WritesHan(gate int) bool { return gate == gateChinese }

// NearMargin returns the minimum Margin of a near match, for the gate of an asked sentence.
func (p *Profiler) NearMargin(asked concordat.Sentence) int {
	_, gate := p.differ(asked, concordat.Match{})
	n := int(math.Ceil(nearStep*float64(gate+1))) - 1
	if !p.hashes {
		n /= 2
	}
	return n
}

// nearStep is the minimum Nearness of a near match, in which at most 10 of 25 hashes differ, or 9 for Chinese.
const nearStep = 0.3

// Closeness returns the closeness of a match to an asked sentence, and whether the match is within the sentence's gate.
func (p *Profiler) Closeness(asked concordat.Sentence, m concordat.Match) (c concordat.Closeness, within bool) {
	switch near := p.Nearness(asked, m); {
	case m.Distance == 0:
		return concordat.CloseSame, true
	case near >= nearStep:
		return concordat.CloseNear, true
	default:
		return concordat.CloseFar, near > 0
	}
}

// Similarity returns the estimated similarity, 0 to 1, of two sentences at the given distance in bits, which is resemblance for minwise
// sketches (Li and König 2010) and cosine for simhash (Charikar 2002). The estimate for a single sentence has a standard deviation of
// 0.05 to 0.09; show it in steps.
func (p *Profiler) Similarity(distance int) float64 {
	if p.simhash {
		return simhash.Cosine(distance)
	}
	return minhash.Resemblance(distance)
}

// Resemblance returns the exact Jaccard resemblance, 0 to 1, of the features of two sentences; their fingerprints estimate it. Sentences
// with different kinds of features have a resemblance of 0.
func (p *Profiler) Resemblance(a, b string) (float64, error) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	fa, err := s.set(a, nil)
	if err != nil {
		return 0, err
	}
	fb, err := s.set(b, nil)
	if err != nil {
		return 0, err
	}
	common := 0
	for i, j := 0, 0; i < len(fa) && j < len(fb); {
		switch {
		case fa[i] < fb[j]:
			i++
		case fa[i] > fb[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	if len(fa)+len(fb) == 0 {
		return 0, nil
	}
	return float64(common) / float64(len(fa)+len(fb)-common), nil
}

// Size returns the number of letters and digits in a sentence, with a Han character counting as three, and the number of its distinct
// features. Aligning fingerprints requires both.
func (p *Profiler) Size(sentence string) (chars, features int, err error) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	set, err := s.set(sentence, nil)
	for i := range s.text.Words {
		n := int(s.text.Words[i].Chars)
		if s.text.Words[i].Flags&segment.Han != 0 {
			n *= 3
		}
		chars += n
	}
	return chars, len(set), err
}

// set appends the distinct features of a text in order, treating the text as one block.
func (s *scratch) set(text string, dst []uint64) ([]uint64, error) {
	if err := s.text.Split(text); err != nil {
		return nil, err
	}
	defer func() { s.text.Source = "" }()
	if len(s.text.Words) == 0 {
		return dst, nil
	}
	dst, _ = s.text.Features(segment.Block{Last: len(s.text.Words)}, dst)
	slices.Sort(dst)
	return slices.Compact(dst), nil
}
