package answer

import (
	"cmp"
	"slices"

	"concordat"
	"concordat/align/wording"
	"concordat/profile"
	"concordat/store"
)

// Two sentences of the same genre can be close by chance, especially if they are short and common, and anyone who asks about enough
// sentences will match one in every document. A library's owner therefore weighs matches before disclosing anything. The weight of a
// match is the logarithm of how much more frequent such matches are in reused text than elsewhere (Good, "Probability and the Weighing of
// Evidence", 1950, chapter 6). The weights of different sentences add up. Weights are in tenths of a nat. The tables are rounded from PAN
// 2013 against film reviews (doc/federation.md, What is evidence).

const (
	// leastEvidence is the evidence required to outline a document and, if the rule requires more than one match, to name it.
	leastEvidence = 45
	// halfEvidence is the evidence at which questions about a document count even if they miss, because the partner knows of the
	// document, or would know of it with one more sentence.
	halfEvidence = leastEvidence / 2
	// neighbourWeight is a bonus for adjacent matches, since chance matches are scattered.
	neighbourWeight = 15
	// neighbourOrdinals is the maximum distance between neighbours, in sentences of this site.
	neighbourOrdinals = 2
)

// marginWeight is the weight of a match by its distance inside the gate, in hashes; the last value covers all larger distances.
// sameWeight is the weight of an identical fingerprint.
var marginWeight = [...]int{-15, -5, 7, 14, 21, 28, 32, 36, 40}

const sameWeight = 50

// lengthWeight is the weight by the number of letters in a sentence; one Han character counts as three. The last row whose letter count
// is reached applies.
var lengthWeight = []struct{ letters, weight int }{{0, -40}, {30, -12}, {45, -6}, {60, 1}, {80, 7}, {100, 14}, {130, 20}}

// holderWeight is the weight of a match by the number of documents in the library that a question comes close to; the last value covers
// all larger numbers.
var holderWeight = [...]int{1: 12, 2: -3, 3: -13, 4: -18, 5: -30}

// common is the weight of a sentence contained in many documents of a library. Such sentences are not evidence, no matter how many match.
const common = -1000

// Consecutive sentences with this many letters form a page, as defined in package wording. The asker decides whether a page found in many
// documents counts, so it is evidence just as rare wording is.
const pageLetters = 5 * wording.LongWords

// maxPaged is the maximum number of documents named for such a page alone; if more contain it, the number of documents containing each
// sentence is disclosed too.
const maxPaged = wording.Absolute + 1

// isCommon reports whether a sentence occurs in so many documents of a library that it is not evidence.
func (h *hit) isCommon(documents int) bool {
	least := wording.Least(documents)
	return least > 0 && h.holders >= max(least, len(holderWeight))
}

// weight returns the weight of a match that is not common; of is the row of its document.
func (q *question) weight(h *hit, of store.DocumentRow) int {
	asked := concordat.Sentence{Gate: q.ask.Sentences[h.Sentence].Gate}
	w := sameWeight
	if h.match.Distance > 0 {
		margin := q.set.Profiler.Margin(asked, h.match)
		if h.blurred {
			margin = q.set.Profiler.NearMargin(asked)
		}
		w = marginWeight[min(max(margin, 0), len(marginWeight)-1)]
	}
	letters := lettersOf(h.match.Span, of, asked.Gate)
	for _, x := range slices.Backward(lengthWeight) {
		if letters >= x.letters {
			w += x.weight
			break
		}
	}
	return w + holderWeight[min(h.holders, len(holderWeight)-1)]
}

// lettersOf estimates the number of letters in a sentence from its document's count, because the text is not available.
func lettersOf(s concordat.Span, row store.DocumentRow, gate int) int {
	if row.Bytes == 0 {
		return 0
	}
	n := s.Len() * row.Characters / int(row.Bytes)
	if profile.WritesHan(gate) {
		n *= 3
	}
	return n
}

// evidence returns the total weight of a document's hits, counting only the heaviest match for each asked sentence and each sentence of
// this site. paged states whether to count matches in a page found in many documents.
func (q *question) evidence(f *found, paged bool) int {
	all := make([]weighed, 0, len(f.before)+len(f.hits))
	for _, h := range f.before {
		all = append(all, weighed{h.Sentence, h.Ordinal, h.Weight})
	}
	for _, h := range f.hits[:min(len(f.hits), maxHits)] {
		if h.paged && !paged {
			continue
		}
		all = append(all, weighed{q.name(h.Sentence), h.Ordinal, h.weight})
	}
	return evidenceOf(all)
}

// weighed is a match of a job, with the name of an asked sentence, a sentence of this site, and a weight.
type weighed struct {
	sentence [8]byte
	ordinal  int
	weight   int
}

// evidenceOf returns the total weight of one document's matches. A match without positive weight counts only if the bonus for a neighbour
// makes it positive.
func evidenceOf(all []weighed) int {
	slices.SortFunc(all, func(a, b weighed) int {
		return cmp.Or(b.weight-a.weight, a.ordinal-b.ordinal, slices.Compare(a.sentence[:], b.sentence[:]))
	})
	sentences, ordinals := map[[8]byte]bool{}, map[int]bool{}
	sum := 0
	for _, x := range all {
		if sentences[x.sentence] || ordinals[x.ordinal] {
			continue
		}
		for d := -neighbourOrdinals; d <= neighbourOrdinals; d++ {
			if ordinals[x.ordinal+d] {
				x.weight += neighbourWeight
				break
			}
		}
		if x.weight <= 0 {
			continue
		}
		sentences[x.sentence], ordinals[x.ordinal] = true, true
		sum += x.weight
	}
	return sum
}

// weigh sets the holder count and the weight of each hit, for all documents that an ask came close to.
func (q *question) weigh(g *grant, docs []*found) {
	holders := map[int]map[concordat.DocumentID]bool{}
	for _, f := range docs {
		for _, h := range f.hits {
			if holders[h.Sentence] == nil {
				holders[h.Sentence] = map[concordat.DocumentID]bool{}
			}
			holders[h.Sentence][f.row.ID] = true
		}
	}
	for _, f := range docs {
		for i := range f.hits {
			h := &f.hits[i]
			h.holders = max(len(holders[h.Sentence]), h.match.Documents)
		}
		q.weighFound(g, f)
	}
}

// weighFound sets the weights of a document's hits with known holders.
func (q *question) weighFound(g *grant, f *found) {
	var often []*hit
	for i := range f.hits {
		h := &f.hits[i]
		h.weight, h.paged = q.weight(h, f.row), false
		if h.isCommon(g.library.Documents) {
			often = append(often, h)
		}
	}
	q.weighOften(f, often)
}

// weighOften removes the weight of a document's common matches, except those in a page.
func (q *question) weighOften(f *found, often []*hit) {
	slices.SortStableFunc(often, func(a, b *hit) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for from := 0; from < len(often); {
		to, letters := from, 0
		for ; to < len(often) && (to == from || often[to].Ordinal-often[to-1].Ordinal <= neighbourOrdinals); to++ {
			if h := often[to]; to == from || h.Ordinal != often[to-1].Ordinal {
				letters += lettersOf(h.match.Span, f.row, q.ask.Sentences[h.Sentence].Gate)
			}
		}
		for _, h := range often[from:to] {
			if h.paged = letters >= pageLetters; !h.paged {
				h.weight = common
			}
		}
		from = to
	}
}

// tellable reports whether a document can be named because enough of its sentences match, and not just by chance. A rule that requires
// only one match also names chance matches.
func (q *question) tellable(f *found, rule store.ShareRule) bool {
	return q.paired(f, rule.Matches) && (rule.Matches == 1 || q.evidence(f, true) >= leastEvidence)
}

// nearlyTold reports whether the answer, or the lack of one, lets a partner infer that a sentence of the document does not match.
func (q *question) nearlyTold(f *found, rule store.ShareRule) bool {
	return rule.Matches == 1 || q.evidence(f, true) >= halfEvidence
}

// fewPaged splits documents that could be named, in order, into named and unnamed ones. If more than maxPaged of them have nothing but a
// page with many holders, none of those is named.
func (q *question) fewPaged(docs []*found, rule store.ShareRule) (told, not []*found) {
	n := 0
	for _, f := range docs {
		if rule.Matches != 1 && q.evidence(f, false) < leastEvidence {
			if n++; n > maxPaged {
				not = append(not, f)
				continue
			}
		}
		told = append(told, f)
	}
	return told, not
}
