package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/align"
	"concordat/profile"
	"concordat/report"
	"concordat/site/compare"
)

const (
	// closeDistance is the distance in bits within which a single sentence is evidence. Among a third of a billion pairs of unrelated
	// sentences, the closest were 24 apart (doc/security.md).
	closeDistance = 15
	// maxOutlined is the maximum number of a partner's documents whose outlines are requested; beyond it, only matched sentences are
	// displayed.
	maxOutlined = 64
	// maxEdges is the maximum number of a partner's documents whose edges are requested at once.
	maxEdges = 8
	// leastRest is the minimum number of letters and digits at which the rest of a passage next to an exact copy is displayed separately.
	// It exceeds the ragged edge of a passage of whole sentences.
	leastRest = 150
	// maxOutlineUnits is the maximum number of units in an outline.
	maxOutlineUnits = 1 << 16
)

// compare nominates documents on the basis of the matches and requests more about them, which is the second round. If that fails
// altogether, only the matched sentences are displayed.
func (r *round) compare(ctx context.Context) error {
	slices.SortFunc(r.answer.matches, byMatch)
	r.wording = r.fw.commonAt(r.answer.questions, r.answer.matches, r.p.Documents, byStep)
	r.answer.wording = r.wording.common
	evidence, common := r.wording.apart(r.answer.questions, r.answer.matches)
	all := compare.Nominate(r.answer.questions, evidence, byStep)
	if few := r.p.Documents > 0 && r.p.Documents <= maxOutlined; !few {
		all = slices.DeleteFunc(all, func(c *compare.Candidate) bool { return !worthAsking(c) })
	}
	most := cmp.Or(r.fw.o.Candidates, compare.DefaultCandidates)
	if left := len(all) - most; left > 0 {
		r.answer.flags = append(r.answer.flags, concordat.Flag{Code: "candidates_left_out", Count: left,
			Detail: fmt.Sprintf("%d more documents of site %s share some wording with the submission; only the %d closest are shown", left,
				r.answer.site, most)})
		all = all[:most]
	}
	r.answer.candidates = all
	docs := make(map[concordat.Ref]*nominated, len(r.order))
	for _, n := range r.order {
		docs[n.ref] = n
	}
	found, err := r.outlines(ctx, all, docs)
	beside := r.wording.beside(r.answer.questions, common, r.p.Profiler)
	for i, c := range all {
		n := docs[c.Ref]
		src := r.source(n)
		ps := found[i].passages
		switch {
		case found[i].form == "" && enough(c):
			ps = r.fw.fromHits(c.Hits, r.p.Profiler)
		case found[i].form != "":
			src.Outline = found[i].form
			r.answer.lengths[n.ref] = found[i].length
			ps = append(ps, r.fw.fromHits(notHeld(c.Hits, ps), r.p.Profiler)...)
		}
		ps = r.wording.judged(ps)
		if found[i].form == concordat.OutlineFingerprints && !slices.ContainsFunc(ps, func(p concordat.Passage) bool { return matched(c, p) }) {
			ps = slices.DeleteFunc(ps, isEvidence)
		}
		for k := range ps {
			ps[k].Source, ps[k].Title, ps[k].Documents = n.ref, n.Title, c.Documents(ps[k].Span)
		}
		if len(ps) > 0 {
			r.answer.passages, r.answer.sources = append(r.answer.passages, ps...), append(r.answer.sources, src)
		}
	}
	r.addBeside(beside, docs)
	return err
}

// source describes a partner's document as disclosed in the answer.
func (r *round) source(n *nominated) report.PartnerSource {
	return report.PartnerSource{Ref: n.ref, Title: n.Title, Author: n.Author, Contact: n.Contact, Date: n.Date,
		Level: n.level, Job: fmt.Sprintf("%x", n.job), Epoch: r.p.Epoch, Matches: n.Matches}
}

// matched reports whether a passage is evidence and contains a sentence that matched on its own. If none of its sentences matched,
// similar fingerprints are a coincidence.
func matched(c *compare.Candidate, p concordat.Passage) bool {
	return isEvidence(p) && c.Documents(p.Span) > 0
}

func isEvidence(p concordat.Passage) bool { return p.Wording == "" }

// addBeside adds common wording found in documents, and the documents named only for that wording.
func (r *round) addBeside(beside []concordat.Passage, docs map[concordat.Ref]*nominated) {
	for _, p := range beside {
		if !slices.ContainsFunc(r.answer.sources, func(x report.PartnerSource) bool { return x.Ref == p.Source }) {
			r.answer.sources = append(r.answer.sources, r.source(docs[p.Source]))
		}
	}
	r.answer.passages = append(r.answer.passages, beside...)
}

// leastWorth is the minimum total worth of a document's matches for requesting its outline.
const leastWorth = 0.3

// worthAsking reports whether a document's matches deserve a second look. Chance matches are distant, so a few of them are worth at most
// a fifth, and they are rarely adjacent. In libraries of up to maxOutlined documents, hardly any match is due to chance and a reworded
// text can have just one, so every match deserves it.
func worthAsking(c *compare.Candidate) bool {
	return c.Score >= leastWorth || enough(c) || anyTwo(c, neighbours)
}

const (
	// nearSpans and nearOrdinals are the maximum distances between neighbouring matches in the submission and the source; a sentence of a
	// submission can be asked about in three segmentations.
	nearOrdinals = 2
	nearSpans    = 600 // in bytes
)

// enough reports whether the matches of a document without text suffice as evidence. One very close sentence suffices, as do two fairly
// close ones that do not overlap, or two that are neighbours on both sides if at least one of them is near. Two sentences just inside the
// gate are not evidence, because a submission of 200 sentences has hundreds of such chance matches among 100,000 sentences.
func enough(c *compare.Candidate) bool {
	return slices.ContainsFunc(c.Hits, func(h compare.Hit) bool { return h.Distance <= closeDistance }) ||
		anyTwo(c, func(g, h compare.Hit) bool {
			return max(g.Distance, h.Distance) <= compare.FairDistance || min(g.Distance, h.Distance) <= nearDistance && neighbours(g, h)
		})
}

// anyTwo reports whether so holds for any two matches of different sentences on both sides.
func anyTwo(c *compare.Candidate, so func(g, h compare.Hit) bool) bool {
	for i, h := range c.Hits {
		for _, g := range c.Hits[:i] {
			if !g.Span.Overlaps(h.Span) && g.Ordinal != h.Ordinal && so(g, h) {
				return true
			}
		}
	}
	return false
}

func neighbours(g, h compare.Hit) bool {
	gap := max(g.Span.Start, h.Span.Start) - min(g.Span.End, h.Span.End)
	return gap <= nearSpans && abs(g.Ordinal-h.Ordinal) <= nearOrdinals
}

func abs(n int) int { return max(n, -n) }

// notHeld returns the very close hits that lie mostly outside all passages.
func notHeld(hits []compare.Hit, ps []concordat.Passage) []compare.Hit {
	var out []compare.Hit
	for _, h := range hits {
		held := slices.ContainsFunc(ps, func(p concordat.Passage) bool {
			return 2*(min(p.Span.End, h.Span.End)-max(p.Span.Start, h.Span.Start)) > h.Span.Len()
		})
		if h.Distance <= closeDistance && !held {
			out = append(out, h)
		}
	}
	return out
}

// fromHits joins matched sentences that are neighbours on both sides into passages. None is called verbatim, since neither the position
// in the source nor the word order is known.
func (fw *forwarding) fromHits(hits []compare.Hit, p *profile.Profiler) []concordat.Passage {
	nearest := map[concordat.Span]compare.Hit{}
	for _, h := range hits {
		if known, ok := nearest[h.Span]; !ok || h.Distance < known.Distance {
			nearest[h.Span] = h
		}
	}
	var order []compare.Hit
	for _, h := range nearest {
		order = append(order, h)
	}
	slices.SortFunc(order, func(a, b compare.Hit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
	})
	var out []concordat.Passage
	var weight, sum float64
	low, high := 0, 0
	for _, h := range order {
		r := p.Similarity(h.Distance)
		w, v := float64(h.Span.Len()), 2*r/(1+r) // converts Jaccard similarity to the share of common features
		if n := len(out); n > 0 && h.Ordinal >= low-nearOrdinals && h.Ordinal <= high+nearOrdinals && fw.near(out[n-1].Span.End, h.Span.Start) {
			out[n-1].Span.End = max(out[n-1].Span.End, h.Span.End)
			low, high = min(low, h.Ordinal), max(high, h.Ordinal)
			weight, sum = weight+w, sum+w*v
		} else {
			out = append(out, concordat.Passage{Span: h.Span})
			low, high, weight, sum = h.Ordinal, h.Ordinal, w, w*v
		}
		out[len(out)-1].Similarity = steps(sum / weight)
	}
	for i := range out {
		out[i].Kind = concordat.KindParaphrase
		if out[i].Similarity >= nearStep {
			out[i].Kind = concordat.KindNear
		}
	}
	return out
}

// joinGap is the maximum number of characters between two matched sentences of a source that are joined, as in a report.
const joinGap = 40

func (fw *forwarding) near(end, start int) bool {
	return start <= end || fw.count.Characters(concordat.Span{Start: end, End: start}) <= joinGap
}

const nearStep = 0.74

// steps rounds a similarity down to a representative of its step in report.Closeness, because sketches determine similarity only to about
// 0.08.
func steps(similarity float64) float64 {
	for _, s := range []float64{1, 0.9, nearStep} {
		if similarity >= s-1e-9 {
			return s
		}
	}
	return 0.5
}

// ownText provides the submission in the forms that the second round needs, each computed on first use.
type ownText struct {
	text string
	mu   sync.Mutex // protects the following fields
	// texts is keyed by the excluded parts, sketches by these parts, the key and the number of bits, and prints by profiler.
	texts    map[string]*align.Text
	sketches map[string]*align.Text
	prints   map[*profile.Profiler][]align.Print
}

// words returns the text without the excluded parts.
func (o *ownText) words(key []byte, bits int, walls []concordat.Span) (full, sketch *align.Text, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.texts == nil {
		o.texts, o.sketches = map[string]*align.Text{}, map[string]*align.Text{}
	}
	name := wallsName(walls)
	if full = o.texts[name]; full == nil {
		full = align.PrepareWithout(o.text, walls)
		o.texts[name] = full
	}
	name += fmt.Sprintf(" %d %x", bits, key)
	if o.sketches[name] == nil {
		s, err := full.Sketch(key, bits)
		if err != nil {
			return nil, nil, err
		}
		if o.sketches[name], err = s.Text(); err != nil {
			return nil, nil, err
		}
	}
	return full, o.sketches[name], nil
}

func (o *ownText) fingerprints(p *profile.Profiler, of *concordat.Profile) ([]align.Print, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ps, ok := o.prints[p]; ok {
		return ps, nil
	}
	ps, err := Prints(p, of)
	if o.prints == nil {
		o.prints = map[*profile.Profiler][]align.Print{}
	}
	o.prints[p] = ps
	return ps, err
}

// Prints returns a document's indexed sentences in the form required by [align.PairPrints]. The document must include its text, and the
// profile must come from p.
func Prints(p *profile.Profiler, of *concordat.Profile) ([]align.Print, error) {
	out := make([]align.Print, len(of.Indexed))
	for i, s := range of.Indexed {
		text := s.Span.In(of.Document.Text)
		chars, features, err := p.Size(text)
		if err != nil {
			return nil, err
		}
		out[i] = align.Print{Span: s.Span, Chars: chars, Features: features, Fingerprint: s.Fingerprint}
	}
	return out, nil
}

// outlined is the result of the second round for one document. form is empty if no outline was disclosed.
type outlined struct {
	form     string
	length   int // in bytes of the partner's text
	passages []concordat.Passage
}

// outlines requests the candidates' outlines and aligns them with the submission. If a request fails, it returns the results so far.
func (r *round) outlines(ctx context.Context, cs []*compare.Candidate, docs map[concordat.Ref]*nominated) ([]outlined, error) {
	out := make([]outlined, len(cs))
	byJob := map[concordat.JobID][]int{}
	var jobs []concordat.JobID
	asked := 0
	for i, c := range cs {
		n := docs[c.Ref]
		words := n.Outline == concordat.OutlineWords && r.p.SketchKey != nil
		if !words && n.Outline != concordat.OutlineFingerprints || asked == maxOutlined || len(n.jobs[n.job]) == 0 {
			continue
		}
		if byJob[n.job] == nil {
			jobs = append(jobs, n.job)
		}
		byJob[n.job] = append(byJob[n.job], i)
		asked++
	}
	for _, job := range jobs {
		if err := r.outlinesOf(ctx, job, byJob[job], cs, docs, out); err != nil {
			return out, fmt.Errorf("request outlines: %w", err)
		}
	}
	return out, nil
}

func (r *round) outlinesOf(ctx context.Context, job concordat.JobID, of []int, cs []*compare.Candidate, docs map[concordat.Ref]*nominated,
	out []outlined) error {
	a := &concordat.OutlineAsk{Job: job, Epoch: r.p.Epoch}
	for _, i := range of {
		n := docs[cs[i].Ref]
		ordinals := slices.Clone(n.jobs[job])
		slices.Sort(ordinals)
		a.Documents = append(a.Documents, concordat.OutlineOf{Handle: n.Handle, Ordinals: slices.Compact(ordinals)})
	}
	shown, err := r.p.Partner.Outline(ctx, a)
	if err != nil {
		return err
	}
	if shown == nil || len(shown.Documents) != len(a.Documents) {
		return fmt.Errorf("%w: wrong number of outlines", errGarbage)
	}
	if len(shown.Statement.Payload) > 0 {
		r.answer.statements = append(r.answer.statements, shown.Statement)
	}
	var mu sync.Mutex // protects r.answer, and bad
	var bad error
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxEdges)
	for k, i := range of {
		o := &shown.Documents[k]
		if o.Refusal != nil {
			continue
		}
		compare.Go(g, func() error {
			n := docs[cs[i].Ref]
			got, words, st, err := r.aligned(ctx, job, n, o)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errGarbage) || errors.Is(err, concordat.ErrInvalid) {
				bad = errors.Join(errGarbage, err)
				return nil
			}
			shown := &r.answer.consulted[n.Library].Shown
			if got.form != "" {
				shown.Outlines++
				shown.Units += len(o.Units)
				shown.Words += words
				out[i] = got
			}
			if st != nil && len(st.Payload) > 0 {
				r.answer.statements = append(r.answer.statements, *st)
			}
			return err
		})
	}
	return errors.Join(g.Wait(), bad)
}

// aligned compares the submission with one outline, and requests the edges of text that is probably copied verbatim. If the edge round
// fails, it returns the passages found by the outline.
func (r *round) aligned(ctx context.Context, job concordat.JobID, n *nominated,
	o *concordat.Outline) (outlined, int, *concordat.Statement, error) {
	if o.Handle != n.Handle || o.Form != n.Outline || len(o.Units) > maxOutlineUnits {
		return outlined{}, 0, nil, fmt.Errorf("%w: invalid outline", errGarbage)
	}
	var rough, literal []align.Passage
	var full *align.Text
	switch o.Form {
	case concordat.OutlineWords:
		s := align.Sketch{Bits: o.Bits}
		for _, u := range o.Units {
			s.Units = append(s.Units, align.SketchUnit{Ordinal: u.Ordinal, Span: u.Span, Chars: u.Chars, Words: u.Words})
		}
		theirs, err := s.Text()
		if err != nil {
			return outlined{}, 0, nil, err
		}
		var own *align.Text
		if full, own, err = r.fw.own.words(r.p.SketchKey, o.Bits, r.wording.walls); err != nil {
			return outlined{}, 0, nil, err
		}
		rough, literal = align.Pair(own, theirs, align.Options{}), align.Literal(own, theirs, align.Options{})
	case concordat.OutlineFingerprints:
		theirs, err := partnerPrints(o)
		if err != nil {
			return outlined{}, 0, nil, err
		}
		own, err := r.wording.prints(r.p.Profiler)
		if err != nil {
			return outlined{}, 0, nil, err
		}
		rough = align.PairPrints(own, theirs, align.Options{})
		if r.p.SketchKey != nil {
			if full, _, err = r.fw.own.words(r.p.SketchKey, align.DefaultSketchBits, r.wording.walls); err != nil {
				return outlined{}, 0, nil, err
			}
			own = slices.Clone(own)
			for i := range own {
				own[i].Check = full.Check(r.p.SketchKey, own[i].Span)
			}
			literal = align.LiteralPrints(own, theirs, align.Options{})
		}
	}
	got := outlined{form: o.Form, length: o.Length}
	var copies []align.Passage
	var words int
	var st *concordat.Statement
	var err error
	if full != nil && len(literal) > 0 {
		copies, words, st, err = r.edges(ctx, job, n, full, literal)
	}
	got.passages = r.fw.together(rough, copies)
	return got, words, st, err
}

// partnerPrints returns the units of an outline of fingerprints, replacing missing ones with a unit that equals nothing.
func partnerPrints(o *concordat.Outline) ([]align.Print, error) {
	out := make([]align.Print, 0, len(o.Units))
	end := 0
	for i, u := range o.Units {
		if u.Span.Start < end || u.Span.End < u.Span.Start || u.Span.End > 1<<31-1 || u.Chars < 0 || u.Chars > 1<<20 || u.Features < 0 ||
			u.Features > 1<<16 {
			return nil, fmt.Errorf("%w: invalid unit %d in an outline", errGarbage, i)
		}
		if i > 0 && u.Ordinal != o.Units[i-1].Ordinal+1 {
			out = append(out, align.Print{Span: concordat.Span{Start: end, End: end}})
		}
		end = u.Span.End
		out = append(out, align.Print{Span: u.Span, Chars: u.Chars, Features: u.Features, Fingerprint: u.Fingerprint, Check: u.Check})
	}
	return out, nil
}
