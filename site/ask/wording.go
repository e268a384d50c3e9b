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

// Shared wording in a submission is left out of questions to partners too. Partners are not asked about wording already known from
// templates or from documents of this site or a batch, and it nominates no document. They are asked about quotations that name their
// source, so that reports can show the source, but these do not nominate documents either. A partner's answer reveals what its documents
// share, because a sentence in enough of them is common. This works without their text.

// leastPart is the minimum number of letters in a displayed remainder of a passage that was cut at shared wording.
const leastPart = 30

// partWording is the wording of the submission to leave out of the comparison with one partner.
type partWording struct {
	fw     *forwarding
	common []report.Wording // shared by the partner's documents, in text order
	walls  []concordat.Span // common and all wording known in advance, in text order without overlaps
	// nearness returns how close a match at a partner or in a mirror is, 0 to 1.
	nearness func(concordat.Sentence, concordat.Match) float64
}

// share returns the share of a span of the submission that lies inside others; see shareOf.
func (fw *forwarding) share(s concordat.Span, others []concordat.Span) float64 {
	return compare.ShareOf(fw.count, s, others)
}

// commonAt returns the parts of the submission that many documents contain, judged by the partner's fingerprints. It counts the partner's
// documents, this site's and the submission. Consecutive sentences are classified as in package wording, so a few words are common, and a
// page is undecided. of is the number of documents at the partner, or 0 if unknown.
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

// quotationsAt returns attributed quotations that share a sentence with a partner's documents. of is the number of those documents.
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

// held returns how many documents of this site contain a sentence, including the submission, or 0 if none of the compared ones does.
func (fw *forwarding) held(s concordat.Span) int {
	if fw.share(s, fw.heldHere()) < compare.MostlyShared {
		return 0
	}
	return fw.shared.Held.Documents(fw.shared.Words, s)
}

// holding counts the documents that contain a sentence.
type holding struct {
	here     int // documents found by the query that contain it, exactly or nearly
	anywhere int // documents in the partner's whole index that contain exactly this sentence
}

// holders returns how many documents contain each matching sentence.
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

// classed classifies consecutive sentences by their number of words, leaving out sentences that count in any case.
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

// add records common wording without duplicates.
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

// apart splits matches into evidence and common wording. Matches of other shared wording appear in neither.
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

// cut splits passages of one source at wording to be left out. A passage that is mostly such wording is marked.
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

// kind returns the kind of shared wording that covers most of a span, or "" if a list of references does.
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

// judged returns the passages of one source cut at shared wording, in text order, and marks the passages that this site's own rules do
// not accept as evidence.
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

// beside returns common wording in a partner's documents as passages that are not evidence.
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

// prints returns the fingerprints of the submission's sentences that are not left out.
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

// addWording adds partners' common wording to this site's. No stretch is reported twice.
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

// wallsName returns a name for walls, used to identify results computed without the text in them.
func wallsName(walls []concordat.Span) string { return fmt.Sprint(walls) }
