package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"concordat"
	"concordat/align"
	"concordat/minhash"
	"concordat/segment"
)

// Channel determines what the two sides of an alignment know about each other.
type Channel string

// These are the channels.
const (
	// ChannelText aligns the texts themselves.
	ChannelText Channel = "text"
	// ChannelFingerprints aligns the 100-bit fingerprints of sentences and then continues like ChannelSketches.
	ChannelFingerprints Channel = "fingerprints"
	// ChannelSketches aligns keyed word sets and then, if the sets suggest a literal copy, the order of words. For a nominated document,
	// a site shows these instead of its text.
	ChannelSketches Channel = "sketches"
)

// AsPAN returns the options for annotation in PAN's style, which differs from people's. PAN has one disguise per pair of documents,
// annotates the whole source for a summary, and includes in a passage everything between its ends.
func AsPAN(o align.Options) align.Options {
	o.VerbatimReplaces, o.WholeSource, o.Bridged = true, true, true
	return o
}

// Align compares the pairs listed in pairsFile, lines "susp source", with texts in suspDir and srcDir, and writes to outDir one file
// <susp stem>-<source stem>.xml per pair, in PAN's format. It uses all cores and stops at the first error or when ctx ends. It reads the
// texts as UTF-8; every invalid byte counts as one code point, as in PAN's reader.
func Align(ctx context.Context, pairsFile, srcDir, suspDir, outDir string, channel Channel) error {
	find, err := finder(channel)
	if err != nil {
		return err
	}
	f, err := os.Open(pairsFile)
	if err != nil {
		return err
	}
	pairs, err := ReadPairs(f)
	f.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", pairsFile, err)
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return err
	}
	return overPairs(ctx, pairs, filesOf(srcDir), filesOf(suspDir), func(p DocumentPair, susp, source *Side) error {
		passages, err := find(susp, source)
		if err != nil {
			return err
		}
		found := annotated(p, susp, source, passages)
		return writeFile(filepath.Join(outDir, stem(p.Susp)+"-"+stem(p.Source)+".xml"), p.Susp, found)
	})
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

func writeFile(path, susp string, found []Annotation) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := WritePAN(f, susp, found); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Side is one document of a pair, ready to be aligned.
type Side struct {
	Source string
	Text   *align.Text
	runes  runeIndex
}

// texts returns a document's text by name.
type texts func(name string) (string, error)

// filesOf returns the texts of files in a folder.
func filesOf(dir string) texts {
	return func(name string) (string, error) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		return string(b), err
	}
}

// textsOf returns the texts in a map.
func textsOf(m map[string]string) texts {
	return func(name string) (string, error) {
		if text, ok := m[name]; ok {
			return text, nil
		}
		return "", fmt.Errorf("%s: %w", name, concordat.ErrNotFound)
	}
}

// overPairs calls do for each pair, on all cores, with both sides loaded. It reads and prepares each document once and releases it after
// its last pair.
func overPairs(ctx context.Context, pairs []DocumentPair, sources, suspicious texts, do func(DocumentPair, *Side, *Side) error) error {
	srcs, susps := newPreparedSides(sources), newPreparedSides(suspicious)
	for _, p := range pairs {
		srcs.expect(p.Source)
		susps.expect(p.Susp)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(pairs) {
					return
				}
				if err := onePair(pairs[i], srcs, susps, do); err != nil {
					cancel(fmt.Errorf("%s %s: %w", pairs[i].Susp, pairs[i].Source, err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func onePair(p DocumentPair, srcs, susps *preparedSides, do func(DocumentPair, *Side, *Side) error) error {
	susp, err := susps.take(p.Susp)
	if err != nil {
		return err
	}
	source, err := srcs.take(p.Source)
	if err != nil {
		return err
	}
	return do(p, susp, source)
}

// finder returns a function that aligns a pair over a channel.
func finder(channel Channel) (func(susp, source *Side) ([]align.Passage, error), error) {
	return finderWith(channel, AsPAN(align.Options{}))
}

func finderWith(channel Channel, o align.Options) (func(susp, source *Side) ([]align.Passage, error), error) {
	switch channel {
	case ChannelText:
		return func(susp, source *Side) ([]align.Passage, error) {
			return align.Pair(susp.Text, source.Text, o), nil
		}, nil
	case ChannelFingerprints:
		sketcher, err := minhash.New(4, sketchKey)
		if err != nil {
			return nil, err
		}
		return func(susp, source *Side) ([]align.Passage, error) {
			return overPrints(sketcher, susp, source, o)
		}, nil
	case ChannelSketches:
		return func(susp, source *Side) ([]align.Passage, error) {
			return overSketches(susp.Text, source.Text, o)
		}, nil
	}
	return nil, fmt.Errorf("unknown channel %q: %w", channel, concordat.ErrInvalid)
}

// sketchKey serves as the key of a federation.
var sketchKey = []byte("evaluation")

// overSketches aligns as two sites do: by sketches of both documents and then, for passages that are probably
// literal, by the order of their words.
func overSketches(susp, source *align.Text, o align.Options) ([]align.Passage, error) {
	a, err := sketched(susp)
	if err != nil {
		return nil, err
	}
	b, err := sketched(source)
	if err != nil {
		return nil, err
	}
	return edges(susp, source, align.Literal(a, b, o), o, func() []align.Passage { return align.Pair(a, b, o) })
}

// overPrints aligns like two sites that show each other only fingerprints.
func overPrints(sketcher concordat.Sketcher, susp, source *Side, o align.Options) ([]align.Passage, error) {
	a, err := prints(sketcher, susp.Source)
	if err != nil {
		return nil, err
	}
	b, err := prints(sketcher, source.Source)
	if err != nil {
		return nil, err
	}
	for _, side := range []struct {
		text *align.Text
		of   []align.Print
	}{{susp.Text, a}, {source.Text, b}} {
		for i := range side.of {
			side.of[i].Check = side.text.Check(sketchKey, side.of[i].Span)
		}
	}
	return edges(susp.Text, source.Text, align.LiteralPrints(a, b, o), o, func() []align.Passage { return align.PairPrints(a, b, o) })
}

// prints returns the fingerprints of a text's indexed blocks, like package profile.
func prints(sketcher concordat.Sketcher, text string) ([]align.Print, error) {
	t, err := segment.Split(text)
	if err != nil {
		return nil, err
	}
	blocks, _, _ := t.Blocks(segment.Natural)
	var out []align.Print
	for _, b := range blocks {
		features, _ := t.Features(b, nil)
		f := sketcher.Sketch(features)
		slices.Sort(features)
		out = append(out, align.Print{
			Span:  concordat.Span(b.Span),
			Chars: letters(t, b), Features: len(slices.Compact(features)), Fingerprint: f,
		})
	}
	return out, nil
}

// letters returns the number of letters in a block; a Han character counts as three.
func letters(t *segment.Text, b segment.Block) int {
	n := 0
	for i := b.First; i < b.Last; i++ {
		n += t.Words[i].Letters()
	}
	return n
}

// edges replaces probably literal passages with the exact ones that follow from the order of their words.
func edges(susp, source *align.Text, literal []align.Passage, o align.Options, rest func() []align.Passage) ([]align.Passage, error) {
	var copies []align.Passage
	for _, p := range literal {
		x, err := susp.Order(sketchKey, p.A)
		if err != nil {
			return nil, err
		}
		y, err := source.Order(sketchKey, p.B)
		if err != nil {
			return nil, err
		}
		found, err := align.Copies(x, y, o)
		if err != nil {
			return nil, err
		}
		copies = append(copies, found...)
	}
	if o.VerbatimReplaces && len(copies) > 0 {
		return copies, nil
	}
	return append(copies, rest()...), nil
}

func sketched(t *align.Text) (*align.Text, error) {
	s, err := t.Sketch(sketchKey, align.DefaultSketchBits)
	if err != nil {
		return nil, err
	}
	return s.Text()
}

// annotated returns passages in code points, as PAN counts.
func annotated(p DocumentPair, susp, source *Side, passages []align.Passage) []Annotation {
	out := make([]Annotation, 0, len(passages))
	for _, x := range passages {
		a0, a1 := susp.runes.at(x.A.Start), susp.runes.at(x.A.End)
		b0, b1 := source.runes.at(x.B.Start), source.runes.at(x.B.End)
		out = append(out, Annotation{p.Susp, p.Source, a0, a1 - a0, b0, b1 - b0})
	}
	return out
}

// preparedSides holds prepared documents while pairs need them.
type preparedSides struct {
	read texts
	mu   sync.Mutex
	// left is the number of pairs that still need each document; sides holds the documents already read. mu guards both.
	left  map[string]int
	sides map[string]func() (*Side, error)
}

func newPreparedSides(read texts) *preparedSides {
	return &preparedSides{read: read, left: map[string]int{}, sides: map[string]func() (*Side, error){}}
}

func (s *preparedSides) expect(name string) { s.left[name]++ }

func (s *preparedSides) take(name string) (*Side, error) {
	s.mu.Lock()
	side := s.sides[name]
	if side == nil {
		side = sync.OnceValues(func() (*Side, error) { return s.prepare(name) })
		s.sides[name] = side
	}
	if s.left[name]--; s.left[name] == 0 {
		delete(s.sides, name)
	}
	s.mu.Unlock()
	return side()
}

func (s *preparedSides) prepare(name string) (*Side, error) {
	text, err := s.read(name)
	if err != nil {
		return nil, err
	}
	return &Side{text, align.Prepare(text), newRuneIndex(text)}, nil
}

// runeIndex converts byte offsets of a text to code points.
type runeIndex struct {
	text  string
	marks []mark
}

// mark records the number of code points before byte at, which begins one.
type mark struct{ at, runes int }

const markEvery = 1024

func newRuneIndex(text string) runeIndex {
	x := runeIndex{text: text, marks: []mark{{}}}
	n := 0
	for i := range text {
		if i >= x.marks[len(x.marks)-1].at+markEvery {
			x.marks = append(x.marks, mark{i, n})
		}
		n++
	}
	return x
}

// at returns the number of code points before byte i, which begins one or ends the text.
func (x runeIndex) at(i int) int {
	k := sort.Search(len(x.marks), func(k int) bool { return x.marks[k].at > i }) - 1
	m := x.marks[k]
	return m.runes + utf8.RuneCountInString(x.text[m.at:i])
}
