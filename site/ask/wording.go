package ask

import (
	"cmp"
	"fmt"
	"slices"

	"concordat"
	"concordat/align"
	"concordat/align/wording"
	"concordat/profile"
	"concordat/report"
	"concordat/site/compare"
)

// Wording of a submission that others may share is also left out when partners are asked. Partners are not asked about wording that is
// known beforehand from templates or from the documents of this site or of a batch, and it nominates no document. They are asked about
// quotations that name their source, so that the source is shown with them, but these nominate no document either. A partner's answer
// shows what its documents share: a sentence that enough of them hold is common. This needs none of their text.

// leastPart is the minimum number of letters of a remainder that is shown when a passage is cut at shared wording.
const leastPart = 30

// partWording is the wording of the submission that is left out of the comparison with one partner.
type partWording struct {
	fw     *forwarding
	common []report.Wording // shared by the partner's documents, in order of text
	walls  []concordat.Span // common and the wording known beforehand; in order and disjoint
	// nearness returns how near a match is, 0 to 1, for a partner or a mirror.
	nearness func(concordat.Sentence, concordat.Match) float64
}

// share returns the part of a span of the submission that lies within others; see shareOf.
func (fw *forwarding) share(s concordat.Span, others []concordat.Span) float64 {
	return compare.ShareOf(fw.count, s, others)
}

// commonAt returns the parts of the submission that many documents at a partner hold: the sentences that its documents and this site's hold
// together, including the submission, judging by the partner's fingerprints. Consecutive sentences are classified as in package wording: a
// few words are common, and a page is to be decided. of is the number of the partner's documents, 0 if unknown.
func (fw *forwarding) commonAt(questions []concordat.Sentence, matches []concordat.Match, of int,
	nearness func(concordat.Sentence, concordat.Match) float64) *partWording {
	all := 0
	if of > 0 {
		all = max(fw.shared.Of, 1) + of
	}
	w := &partWording{fw: fw, walls: fw.shared.Walls, nearness: nearness}
	holders := holders(matches)
	w.common = fw.quotationsAt(questions, holders, max(fw.shared.Of, 1)+of)
	var held []report.Wording
	for i, n := range holders {
		documents := n.here + max(fw.held(questions[i].Span), 1)
		if n.anywhere > wording.Absolute {
			documents = max(documents, n.anywhere+1)
		}
		if wording.Widely(0, documents, all) != "" || wording.Widely(wording.LongWords, documents, all) != "" {
			held = append(held, report.Wording{Span: questions[i].Span, Documents: documents, Of: max(max(fw.shared.Of, 1)+of, documents)})
		}
	}
	slices.SortFunc(held, func(x, y report.Wording) int { return cmp.Or(x.Start-y.Start, x.End-y.End) })
	for from := 0; from < len(held); {
		to, end := from+1, held[from].End
		for ; to < len(held) && fw.near(end, held[to].Start); to++ {
			end = max(end, held[to].End)
		}
		w.add(fw.classed(held[from:to], all))
		from = to
	}
	return w
}

// quotationsAt returns the quotations with a named source that share a sentence with a partner's documents. of is the number of documents.
func (fw *forwarding) quotationsAt(questions []concordat.Sentence, holders map[int]holding, of int) []report.Wording {
	var out []report.Wording
	for _, s := range fw.shared.Named {
		documents := 0
		for i, n := range holders {
			if fw.share(questions[i].Span, []concordat.Span{s}) >= compare.MostlyShared {
				documents = max(documents, n.here)
			}
		}
		if documents > 0 {
			out = append(out, report.Wording{Span: s, Kind: concordat.KindQuotation, Documents: documents, Of: max(of, documents),
				Why: string(report.AsQuotation)})
		}
	}
	return out
}

// held returns how many documents of this site hold a sentence, including the submission, or 0 if none of those compared does.
func (fw *forwarding) held(s concordat.Span) int {
	if fw.share(s, fw.heldHere()) < compare.MostlyShared {
		return 0
	}
	return fw.shared.Held.Documents(fw.shared.Words, s)
}

// holding is the number of documents that hold a sentence.
type holding struct {
	here     int // documents found by the question that hold it or nearly hold it
	anywhere int // in the partner's whole index: documents that hold exactly this sentence
}

// holders returns how many documents hold each sentence that matches.
func holders(matches []concordat.Match) map[int]holding {
	type pair struct {
		sentence int
		source   concordat.Ref
	}
	seen := map[pair]bool{}
	out := map[int]holding{}
	for _, m := range matches {
		if m.Distance > nearDistance {
			continue
		}
		n := out[m.Sentence]
		n.anywhere = max(n.anywhere, m.Documents)
		if k := (pair{m.Sentence, m.Source}); !seen[k] {
			seen[k] = true
			n.here++
		}
		out[m.Sentence] = n
	}
	return out
}

// classed returns consecutive sentences classified by their number of words, without those that count anyway.
func (fw *forwarding) classed(run []report.Wording, all int) []report.Wording {
	var spans []concordat.Span
	for _, x := range run {
		spans = append(spans, x.Span)
	}
	words := 0
	for _, s := range compare.Joined(spans) {
		words += fw.shared.Words.Count(s)
	}
	var out []report.Wording
	for _, x := range run {
		if x.Kind = wording.Widely(words, x.Documents, all); x.Kind != "" {
			x.Words = words
			out = append(out, x)
		}
	}
	return out
}

// add records common wording, each stretch once.
func (w *partWording) add(held []report.Wording) {
	for _, x := range held {
		for _, s := range report.Without(x.Span, w.walls) {
			if s = compare.Tight(w.fw.sub.Text, s); s.Len() > 0 && w.fw.count.Characters(s) > 0 {
				x.Span = s
				w.common = append(w.common, x)
			}
		}
		w.walls = compare.Joined(append(slices.Clone(w.walls), x.Span))
	}
}

// apart divides matches into evidence and common wording. Matches of other shared wording are in neither result.
func (w *partWording) apart(questions []concordat.Sentence, matches []concordat.Match) (evidence, common []concordat.Match) {
	spans := make([]concordat.Span, len(w.common))
	for i, x := range w.common {
		spans[i] = x.Span
	}
	spans = compare.Joined(spans)
	for _, m := range matches {
		span := questions[m.Sentence].Span
		switch {
		case w.fw.share(span, w.walls) < compare.PartlyShared:
			evidence = append(evidence, m)
		case w.fw.share(span, spans) >= compare.MostlyShared:
			common = append(common, m)
		}
	}
	return evidence, common
}

// cut divides passages of one source at wording that is left out. A passage that is mostly such wording is marked as such.
func (w *partWording) cut(passages []concordat.Passage) []concordat.Passage {
	var out []concordat.Passage
	for _, p := range passages {
		switch share := w.fw.share(p.Span, w.walls); {
		case share == 0:
			out = append(out, p)
		case share >= compare.MostlyShared:
			if p.Wording = w.kind(p.Span); p.Wording != "" {
				out = append(out, p)
			}
		default:
			for _, s := range report.Without(p.Span, w.walls) {
				if s = compare.Tight(w.fw.sub.Text, s); s.Len() > 0 && w.fw.count.Characters(s) >= leastPart {
					p.Span = s
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// kind returns the kind of shared wording that covers most of a span, or empty for a list of references.
func (w *partWording) kind(s concordat.Span) concordat.Kind {
	best, most := concordat.Kind(""), 0
	look := func(x concordat.Span, k concordat.Kind) {
		if n := min(x.End, s.End) - max(x.Start, s.Start); n > most {
			best, most = k, n
		}
	}
	for _, x := range w.fw.shared.Form {
		look(x, concordat.KindTemplate)
	}
	for _, x := range slices.Concat(w.fw.shared.Found, w.common) {
		look(x.Span, x.Kind)
	}
	return best
}

// judged returns the passages of one source cut at shared wording, in order of text, and marks those that are not evidence by
// themselves, by this site's own rules.
func (w *partWording) judged(passages []concordat.Passage) []concordat.Passage {
	out := w.cut(passages)
	slices.SortStableFunc(out, func(x, y concordat.Passage) int { return cmp.Or(x.Span.Start-y.Span.Start, x.Span.End-y.Span.End) })
	var evidence []concordat.Passage
	var at []int
	for i, p := range out {
		if p.Wording == "" {
			evidence, at = append(evidence, p), append(at, i)
		}
	}
	w.fw.shared.Judge(evidence)
	for k, i := range at {
		out[i] = evidence[k]
	}
	return out
}

// beside returns the common wording that documents of a partner hold, as passages that are not evidence.
func (w *partWording) beside(questions []concordat.Sentence, matches []concordat.Match, p *profile.Profiler) []concordat.Passage {
	var out []concordat.Passage
	for _, c := range compare.Nominate(questions, matches, w.nearness) {
		for _, x := range w.fw.fromHits(c.Hits, p) {
			x.Source, x.Title, x.Documents = c.Ref, c.Title, c.Documents(x.Span)
			x.Wording = cmp.Or(w.kind(x.Span), concordat.KindCommon)
			out = append(out, x)
		}
	}
	return compare.FewBeside(out)
}

// prints returns the sentences of the submission as fingerprints, without those left out.
func (w *partWording) prints(p *profile.Profiler) ([]align.Print, error) {
	all, err := w.fw.own.fingerprints(p, w.fw.profiles[p])
	if err != nil || len(w.walls) == 0 {
		return all, err
	}
	all = slices.Clone(all)
	for i, x := range all {
		if w.fw.share(x.Span, w.walls) >= compare.MostlyShared {
			all[i] = align.Print{Span: x.Span}
		}
	}
	return all, nil
}

// addWording adds common wording from partners to that of this site. Each stretch is reported once.
func addWording(f *report.Findings, told []report.Wording) {
	if len(told) == 0 {
		return
	}
	var spans []concordat.Span
	for _, x := range f.Wording {
		spans = append(spans, x.Span)
	}
	spans = compare.Joined(spans)
	for _, x := range told {
		for _, s := range report.Without(x.Span, spans) {
			piece := x
			piece.Span = s
			f.Wording = append(f.Wording, piece)
		}
		spans = compare.Joined(append(spans, x.Span))
	}
	slices.SortFunc(f.Wording, func(x, y report.Wording) int { return cmp.Or(x.Start-y.Start, x.End-y.End) })
}

// wallsName returns a name for walls that identifies results made from a text without these walls.
func wallsName(walls []concordat.Span) string { return fmt.Sprint(walls) }
