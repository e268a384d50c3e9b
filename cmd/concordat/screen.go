package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// The methods of screen. The exact pass comes before each.
const (
	methodExact       = "exact"
	methodFingerprint = "fingerprint"
	methodSimhash     = "simhash"
	methodShingle     = "shingle"
	methodShort       = "short"
)

const (
	sketchSize      = 100 // values of a sketch: 800 bytes
	shingleWords    = 5
	simhashDistance = 3
	simhashMemory   = 1 << 30
	shortLetters    = 200 // longest text of the short method
	mostFolded      = 100 // copies of one text whose pairs are all printed
)

type screenFlags struct {
	library, against, method string
	threshold                float64
}

func (a *app) screenCommand() *cobra.Command {
	var f screenFlags
	c := &cobra.Command{
		Use: "screen --library L", Short: "Find near-duplicates in a whole library, or between two", Args: cobra.NoArgs,
		Long: `Screen compares every document of a library with every other, or with all of another library, and prints
the pairs whose resemblance reaches the threshold, then the clusters they form, each with a
representative. It removes nothing.

Texts that are the same but for case, spaces and punctuation are found first, whatever the method:
  fingerprint  by sentence fingerprints: shared passages; resemblance is the covered characters of
               both over all characters of both
  shingle      by 100 sampled runs of five words: estimated resemblance and containment
  simhash      by one 64-bit print a document, at most 3 bits apart: versions of the same text only
  short        by letters and pairs of letters, for texts of up to 200 letters`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.library == "" {
				return usagef("--library is missing: which library is to be screened?")
			}
			if !slices.Contains([]string{methodFingerprint, methodSimhash, methodShingle, methodShort}, f.method) {
				return usagef("--method %q: want fingerprint, simhash, shingle or short", f.method)
			}
			if !(f.threshold > 0 && f.threshold <= 1) {
				return usagef("--threshold %v: want a share above 0, at most 1", f.threshold)
			}
			return a.with(cmd.Context(), withIndex, func(o *opened) error { return a.screen(cmd.Context(), o, f) })
		},
	}
	c.Flags().StringVar(&f.library, "library", "", "library to screen")
	c.Flags().StringVar(&f.against, "against", "", "compare with this library instead of within itself")
	c.Flags().StringVar(&f.method, "method", methodFingerprint, "fingerprint, simhash, shingle or short")
	c.Flags().Float64Var(&f.threshold, "threshold", 0.3, "least resemblance of a pair that is printed")
	return c
}

// screened is a distinct text of the libraries.
type screened struct {
	members  [2][]concordat.DocumentID // of --library, and of --against
	document screen.Document           // method fingerprint
	sketch   minhash.MinSketch         // method shingle
	print    uint64                    // method simhash
	letters  string                    // method short
	blank    bool                      // the method has nothing to compare
}

// screening is one run.
type screening struct {
	screenFlags
	site  *opened
	self  bool
	texts []*screened
	pairs []screenPair
	sum   screenSummary
}

func (a *app) screen(ctx context.Context, o *opened, f screenFlags) error {
	for _, lib := range []string{f.library, f.against} {
		if lib == "" && lib != f.library {
			continue
		}
		if _, err := o.store.Library(ctx, concordat.LibraryID(lib)); errors.Is(err, concordat.ErrNotFound) {
			return usagef("no library %q; concordat library list shows them", lib)
		} else if err != nil {
			return err
		}
	}
	s := &screening{screenFlags: f, site: o, self: f.against == "" || f.against == f.library}
	s.sum = screenSummary{Type: "summary", Library: concordat.LibraryID(f.library), Method: f.method, Threshold: f.threshold}
	if !s.self {
		s.sum.Against = concordat.LibraryID(f.against)
	}
	if err := a.readScreened(ctx, s); err != nil {
		return err
	}
	s.exact()
	if err := a.compareScreened(ctx, s); err != nil {
		return err
	}
	if err := a.printScreened(s); err != nil {
		return err
	}
	if s.sum.Unread > 0 {
		return &exitError{exitUnreadable, fmt.Errorf("%d documents could not be read; the others are compared", s.sum.Unread)}
	}
	return nil
}

// readScreened reads the libraries once, joins identical texts, and prepares each distinct one.
func (a *app) readScreened(ctx context.Context, s *screening) error {
	b := a.bar(int64(s.site.shard.Stats().Documents), "reading")
	defer b.done()
	known := map[[sha256.Size]byte]*screened{}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for d, err := range s.site.shard.Documents(gctx) {
		b.add(1)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			s.sum.Unread++
			a.warn("%v", err)
			continue
		}
		side := 0
		switch {
		case d.Library == concordat.LibraryID(s.library):
		case !s.self && d.Library == concordat.LibraryID(s.against):
			side = 1
		default:
			continue
		}
		s.sum.Documents++
		key := normalSum(d.Text)
		text := known[key]
		if text == nil {
			text = &screened{}
			known[key] = text
			s.texts = append(s.texts, text)
			g.Go(func() error { return s.prepare(d, text) })
		}
		text.members[side] = append(text.members[side], d.ID)
	}
	if err := errors.Join(g.Wait(), context.Cause(ctx)); err != nil {
		return err
	}
	s.sum.Distinct = len(s.texts)
	for _, t := range s.texts {
		if !t.blank {
			s.sum.Compared++
		}
	}
	return nil
}

// normalSum is equal for texts that are the same but for case, spaces and punctuation.
func normalSum(text string) [sha256.Size]byte {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return sha256.Sum256(b)
}

// prepare makes of a text what the method compares.
func (s *screening) prepare(d *concordat.Document, out *screened) error {
	t, err := segment.Split(d.Text)
	if err != nil {
		return fmt.Errorf("document %s/%s: %w", d.Library, d.ID, err)
	}
	switch s.method {
	case methodFingerprint:
		p, err := s.site.profiler.Profile(*d, nil)
		if err != nil {
			return err
		}
		out.document = screen.NewDocument(p, t)
		out.blank = len(out.document.Indexed) == 0
	case methodShingle:
		out.sketch = minhash.NewShingler(nil).Min(screen.Shingling{Width: shingleWords}.Append(t, nil), sketchSize)
		out.blank = out.sketch.Set == 0
	case methodSimhash:
		printer, err := simhash.NewPrinter(simhash.HashMix, nil)
		if err != nil {
			return err
		}
		var words []uint64
		for _, w := range t.Words {
			words = append(words, w.Hash)
		}
		out.print = printer.Print64(simhash.Weighting{TF: simhash.TFLog}.Weigh(words, nil))
		out.blank = len(words) == 0
	case methodShort:
		out.letters = screen.Letters(t)
		if out.blank = out.letters == "" || utf8.RuneCountInString(out.letters) > shortLetters; out.blank {
			out.letters = ""
		}
	}
	return nil
}

// add notes a pair of documents.
func (s *screening) add(a, b concordat.DocumentID, p screenPair) {
	p.Type, p.A, p.B = "pair", a, b
	p.LibraryA, p.LibraryB = s.sum.Library, s.sum.Library
	if !s.self {
		p.LibraryB = s.sum.Against
	}
	s.pairs = append(s.pairs, p)
}

// exact notes the pairs of documents of one text.
func (s *screening) exact() {
	one := 1.0
	p := screenPair{Method: methodExact, Resemblance: one, ContainmentA: &one, ContainmentB: &one}
	note := func(a, b concordat.DocumentID) { s.add(a, b, p) }
	for _, t := range s.texts {
		if !s.self {
			s.product(t.members[0], t.members[1], note)
			continue
		}
		all := t.members[0]
		for i, a := range all {
			if i > 0 && len(all) > mostFolded {
				s.sum.Folded += len(all) - i - 1
				continue
			}
			for _, b := range all[i+1:] {
				note(a, b)
			}
		}
	}
}

// found notes a pair of texts, as a pair of every two of their documents.
func (s *screening) found(i, j int, p screenPair) {
	x, y := s.texts[i], s.texts[j]
	swapped := p
	swapped.ContainmentA, swapped.ContainmentB = p.ContainmentB, p.ContainmentA
	if s.self {
		s.product(x.members[0], y.members[0], func(a, b concordat.DocumentID) {
			if a > b {
				s.add(b, a, swapped)
			} else {
				s.add(a, b, p)
			}
		})
		return
	}
	s.product(x.members[0], y.members[1], func(a, b concordat.DocumentID) { s.add(a, b, p) })
	s.product(y.members[0], x.members[1], func(a, b concordat.DocumentID) { s.add(a, b, swapped) })
}

// product calls each with every two documents, of very many copies only with those that have the
// first of either.
func (s *screening) product(as, bs []concordat.DocumentID, each func(a, b concordat.DocumentID)) {
	for i, a := range as {
		for j, b := range bs {
			if i > 0 && j > 0 && len(as)*len(bs) > mostFolded*mostFolded {
				s.sum.Folded += len(bs) - j
				break
			}
			each(a, b)
		}
	}
}

// across reports whether two texts have documents to compare.
func (s *screening) across(i, j int) bool {
	x, y := s.texts[i], s.texts[j]
	return s.self || len(x.members[0]) > 0 && len(y.members[1]) > 0 || len(y.members[0]) > 0 && len(x.members[1]) > 0
}

func (a *app) compareScreened(ctx context.Context, s *screening) error {
	switch s.method {
	case methodShingle:
		return s.bySketch(ctx)
	case methodSimhash:
		return s.byPrint()
	case methodShort:
		return s.byLetters()
	}
	return a.byFingerprint(ctx, s)
}

// byFingerprint joins by bands, then compares the candidates on all cores.
func (a *app) byFingerprint(ctx context.Context, s *screening) error {
	docs := make([]screen.Document, len(s.texts))
	for i, t := range s.texts {
		docs[i] = t.document
	}
	joined := screen.Candidates(docs, screen.JoinOptions{Probe: concordat.ProbeOne})
	joined.Pairs = slices.DeleteFunc(joined.Pairs, func(p [2]int) bool { return !s.across(p[0], p[1]) })
	s.sum.Candidates, s.sum.Common = len(joined.Pairs), joined.Common+joined.Crowded
	overlaps := make([]screen.Overlap, len(joined.Pairs))
	b := a.bar(int64(len(joined.Pairs)), "comparing")
	defer b.done()
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	const stride = 256
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for {
				from := int(next.Add(stride)) - stride
				if from >= len(joined.Pairs) || ctx.Err() != nil {
					return context.Cause(ctx)
				}
				to := min(from+stride, len(joined.Pairs))
				for i := from; i < to; i++ {
					overlaps[i] = screen.Compare(&docs[joined.Pairs[i][0]], &docs[joined.Pairs[i][1]])
				}
				b.add(to - from)
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, o := range overlaps {
		if o.Resemblance >= s.threshold {
			s.found(joined.Pairs[i][0], joined.Pairs[i][1], screenPair{Method: methodFingerprint, Resemblance: o.Resemblance, ContainmentA: &o.ContainedA, ContainmentB: &o.ContainedB})
		}
	}
	return nil
}

// bySketch estimates from MIN_s sketches.
func (s *screening) bySketch(ctx context.Context) error {
	sketches := make([]minhash.MinSketch, len(s.texts))
	for i, t := range s.texts {
		sketches[i] = t.sketch
	}
	var err error
	s.sum.Common, err = screen.SketchPairs(sketches, screen.SketchOptions{Threshold: s.threshold}, 0, 0, func(p screen.SketchPair) bool {
		if s.across(p.A, p.B) {
			s.sum.Candidates++
			inA, inB := p.ContainedA.Value(), p.ContainedB.Value()
			low, high := p.Resemblance.Interval(0.95)
			s.found(p.A, p.B, screenPair{Method: methodShingle, Resemblance: p.Resemblance.Value(), ContainmentA: &inA, ContainmentB: &inB, Low: &low, High: &high})
		}
		return ctx.Err() == nil
	})
	return errors.Join(err, context.Cause(ctx))
}

// byPrint finds prints at most simhashDistance bits apart.
func (s *screening) byPrint() error {
	var prints []uint64
	var of []int
	for i, t := range s.texts {
		if !t.blank {
			prints, of = append(prints, t.print), append(of, i)
		}
	}
	d, err := screen.NewPlan(screen.PlanOptions{K: simhashDistance, Prints: len(prints), Bytes: simhashMemory, Queries: len(prints)})
	if err != nil {
		return err
	}
	tables, err := screen.NewTables(d, prints)
	if err != nil {
		return err
	}
	var hits []screen.Hit
	for i, p := range prints {
		hits = tables.Near(p, hits[:0])
		for _, h := range hits {
			if int(h.ID) <= i || !s.across(of[i], of[h.ID]) {
				continue
			}
			s.sum.Candidates++
			// The angle between the weighted word vectors (Charikar 2002, section 3).
			if r := math.Cos(math.Pi * float64(h.Distance) / 64); r >= s.threshold {
				s.found(of[i], of[h.ID], screenPair{Method: methodSimhash, Resemblance: r})
			}
		}
	}
	return nil
}

// byLetters compares short texts by their letters and pairs of letters.
func (s *screening) byLetters() error {
	texts := make([]string, len(s.texts))
	for i, t := range s.texts {
		texts[i] = t.letters
	}
	short, err := screen.NewShort(texts, screen.ShortOptions{Threshold: s.threshold})
	if err != nil {
		return err
	}
	s.sum.Candidates = short.Pairs(0, 0, func(i, j int, similarity float64) bool {
		if s.across(i, j) {
			s.found(i, j, screenPair{Method: methodShort, Resemblance: similarity})
		}
		return true
	})
	return nil
}
