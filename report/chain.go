package report

import (
	"cmp"
	"slices"

	"concordat"
)

// chain is the set of joined passages that one source shares with one stretch of the submission.
type chain struct {
	ref      concordat.Ref
	title    string
	hull     concordat.Span
	raw      []concordat.Passage // as found, ordered by span
	all      spans               // union of raw
	counted  spans               // counting part of all; nil if excluded
	shared   concordat.Exclusion // rule under which its passages are legitimately shared; empty if they are evidence
	exact    spans               // part of all with identical wording
	excluded concordat.Exclusion
}

// chains joins the passages of each source, ordered by source, then by position in the text. Evidence is never joined with shared
// wording.
func (b *builder) chains() []*chain {
	var out []*chain
	var cur *chain
	for i, p := range b.passages {
		shared := b.sharedAs(p)
		if cur != nil && cur.ref == p.Source && cur.shared == shared && b.near(cur.hull.End, p.Span.Start) &&
			!b.sharedBetween(cur.hull.End, p.Span.Start) {
			cur.hull.End = max(cur.hull.End, p.Span.End)
			cur.raw = b.passages[i-len(cur.raw) : i+1]
			continue
		}
		cur = &chain{ref: p.Source, title: p.Title, hull: p.Span, raw: b.passages[i : i+1], shared: shared}
		out = append(out, cur)
	}
	return out
}

// sharedBetween reports whether shared wording lies between two positions.
func (b *builder) sharedBetween(end, start int) bool {
	i, _ := slices.BinarySearchFunc(b.f.Wording, end, func(w Wording, at int) int { return cmp.Compare(w.End, at+1) })
	return i < len(b.f.Wording) && b.f.Wording[i].Start < start
}

// near reports whether two positions are at most joinGap characters apart.
func (b *builder) near(end, start int) bool {
	if start <= end {
		return true
	}
	if start-end > joinGap*64 { // avoids counting, because white space alone does not join distant positions
		return false
	}
	return b.count.Characters(concordat.Span{Start: end, End: start}) <= joinGap
}

// judge decides which part of each chain counts, or which rule excludes all of it.
func (b *builder) judge(chains []*chain) {
	for _, c := range chains {
		b.judgeOne(c)
	}
	if b.r.MinSourceShare <= 0 {
		return
	}
	of := map[concordat.Ref][]*chain{}
	for _, c := range chains {
		if first := b.copies.first(c.ref); c.excluded == "" {
			of[first] = append(of[first], c)
		}
	}
	for _, cs := range of {
		if float64(b.count.sum(coveredBy(cs))) >= b.r.MinSourceShare*float64(b.measured) {
			continue
		}
		for _, c := range cs {
			c.excluded = concordat.ExcludedSmallSource
		}
	}
}

func (b *builder) judgeOne(c *chain) {
	var all, counted, exact []concordat.Span
	for _, p := range c.raw {
		all = append(all, p.Span)
		if p.Kind == concordat.KindVerbatim {
			exact = append(exact, p.Span)
		}
		if !b.kinds[p.Kind] {
			counted = append(counted, p.Span)
		}
	}
	c.all = union(all)
	c.counted = union(counted)
	unmasked := c.counted.without(b.masked).without(b.headed)
	c.exact = union(exact)
	n := b.count.sum(unmasked)
	switch {
	case b.sources.has(c.ref):
		c.excluded = concordat.ExcludedSource
	case b.own.has(c.ref):
		c.excluded = concordat.ExcludedOwn
	case c.shared != "":
		c.excluded = c.shared
	case len(c.counted) == 0:
		c.excluded = concordat.ExcludedKind
	case n == 0:
		c.excluded = b.reason(c.counted)
	case n < b.r.MinCharacters:
		c.excluded = concordat.ExcludedSmall
	}
	c.counted = unmasked
}

// isCommon reports whether p is wording shared by many documents, judging by their number.
func (b *builder) isCommon(p concordat.Passage) bool {
	return p.Kind == concordat.KindCommon || b.byNumber && p.Documents > b.common
}

// commonByNumber reports whether a passage is judged common by the number of documents that contain it. This applies if the search for
// common wording did not precede the comparison, if documents of several sites contain the same wording (no site sees all of them), or if
// the rules set a lower threshold than the search.
func (b *builder) commonByNumber() bool {
	if b.common <= 0 {
		return false
	}
	several := slices.ContainsFunc(b.f.Passages, func(p concordat.Passage) bool { return p.Source.Site != b.f.Passages[0].Source.Site })
	return b.f.WordingOf == 0 || several || b.common < DefaultCommonAbove
}

// reason returns the rule of the mask that covers most characters of s; the earlier mask wins a tie.
func (b *builder) reason(s spans) concordat.Exclusion {
	why, most := concordat.ExcludedPassage, 0
	if n := b.count.sum(s.and(b.headed)); n > 0 {
		why, most = concordat.ExcludedForm, n
	}
	for _, m := range b.masks {
		if n := b.count.sum(s.and(m.spans)); n > most {
			why, most = m.why, n
		}
	}
	return why
}

// coveredBy returns the text covered by counting chains.
func coveredBy(chains []*chain) spans {
	var s []concordat.Span
	for _, c := range chains {
		if c.excluded == "" {
			s = append(s, c.counted...)
		}
	}
	return union(s)
}

// evidence groups overlapping chains, whatever their sources. For each Evidence it also returns the indices of its chains. A counting
// passage contains only text that counts; see cut. Chains of excluded sources are left out, so their passages go to the next source.
func (b *builder) evidence(chains []*chain) ([]concordat.Evidence, [][]int) {
	cut, from := b.cut(chains)
	order := make([]int, len(cut))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return bySpan(cut[i].hull, cut[j].hull) })
	var members [][]int
	end := -1
	for _, i := range order {
		h := cut[i].hull
		if n := len(members); n > 0 && h.Start < end {
			members[n-1] = append(members[n-1], i)
		} else {
			members = append(members, []int{i})
		}
		end = max(end, h.End)
	}
	out := make([]concordat.Evidence, len(members))
	of := make([][]int, len(members))
	for k, ms := range members {
		out[k] = b.gather(cut, ms)
		for _, i := range ms {
			of[k] = append(of[k], from[i])
		}
	}
	return out, of
}

// gather combines overlapping chains, already cut, into one Evidence. It sorts members by source.
func (b *builder) gather(chains []*chain, members []int) concordat.Evidence {
	e := concordat.Evidence{Span: chains[members[0]].hull}
	type ranked struct {
		chain  int
		source concordat.Source
		weight float64
	}
	rs := make([]ranked, len(members))
	most := -1
	for k, i := range members {
		c := chains[i]
		e.Span.Start, e.Span.End = min(e.Span.Start, c.hull.Start), max(e.Span.End, c.hull.End)
		s := b.source(c)
		n := b.count.sum(c.all)
		rs[k] = ranked{i, s, float64(n) * s.Similarity}
		if n > most {
			most, e.Excluded = n, c.excluded
		}
	}
	slices.SortStableFunc(rs, func(x, y ranked) int {
		return cmp.Or(
			cmp.Compare(boolInt(x.source.Excluded != ""), boolInt(y.source.Excluded != "")),
			cmp.Compare(y.weight, x.weight),
			cmp.Compare(strength(x.source.Kind), strength(y.source.Kind)),
			compareRefs(x.source.Ref, y.source.Ref),
			bySpan(x.source.Here, y.source.Here),
		)
	})
	var covered, whole []concordat.Span
	held := make([]*chain, len(rs))
	for k, r := range rs {
		members[k] = r.chain
		held[k] = chains[r.chain]
		e.Sources = append(e.Sources, r.source)
		whole = append(whole, held[k].all...)
		if r.source.Excluded == "" {
			e.Excluded = ""
			covered = append(covered, held[k].counted...)
		}
	}
	e.Characters = b.count.sum(union(covered))
	if e.Excluded == "" {
		e.Kinds = b.divided(b.claims(held, byStrength), union(covered))
	} else {
		e.Kinds = b.divided(claimsOf(held), union(whole))
	}
	e.Kind = b.shown(e)
	kinds := map[concordat.Exclusion]concordat.Kind{concordat.ExcludedForm: concordat.KindForm,
		concordat.ExcludedQuote: concordat.KindQuotation}
	if kind := kinds[e.Excluded]; kind != "" {
		var raw []concordat.Passage
		for _, i := range members {
			raw = append(raw, chains[i].raw...)
		}
		e.Why = b.whyOf(kind, e.Span, raw)
	}
	e.Cited = b.cited(e.Span)
	e.Group = groupOf(b, e)
	all := make([]aged, len(e.Sources))
	for i := range e.Sources {
		all[i] = aged{e.Sources[i].Ref, &e.Sources[i].Age}
	}
	markOldest(all)
	e.Section = b.section(e.Span)
	return e
}

// mostlyQuoted is the share of a passage's characters in quotations at which the passage is a quotation.
const mostlyQuoted = 0.9

// shown returns the kind of a passage as a whole: the kind of most of its characters, unless part of the passage is of a kind that
// matters more.
func (b *builder) shown(e concordat.Evidence) concordat.Kind {
	switch n := b.count.Characters(e.Span); {
	case e.Excluded == concordat.ExcludedTemplate:
		return concordat.KindTemplate
	case e.Excluded == concordat.ExcludedCommon:
		return concordat.KindCommon
	case e.Excluded == concordat.ExcludedForm:
		return concordat.KindForm
	case e.Excluded == concordat.ExcludedSentence:
		return concordat.KindSentence
	case e.Excluded == concordat.ExcludedUndecided:
		return concordat.KindUndecided
	case e.Excluded == concordat.ExcludedQuote, float64(b.count.sum(spans{e.Span}.and(b.quotes))) >= mostlyQuoted*float64(n):
		return concordat.KindQuotation
	}
	return most(e.Kinds, e.Sources[0].Kind)
}

func boolInt(v bool) int {
	if v {
		return 1
	}
	return 0
}

// section returns the index of the section with the largest part of s, or -1.
func (b *builder) section(s concordat.Span) int {
	best, most := -1, 0
	for i, sec := range b.f.Sections {
		if n := min(s.End, sec.Span.End) - max(s.Start, sec.Span.Start); n > most {
			best, most = i, n
		}
	}
	return best
}

// source converts a chain to one source of an Evidence.
func (b *builder) source(c *chain) concordat.Source {
	s := concordat.Source{Ref: c.ref, Age: b.dates[c.ref], Title: c.title, Here: c.hull, Excluded: c.excluded, Parts: joinParts(c.raw)}
	s.Kinds = b.divided(claimsOf([]*chain{c}), c.all)
	total, weighted := 0, 0.0
	for i, p := range c.raw {
		n := b.count.Characters(p.Span)
		total += n
		weighted += float64(n) * p.Similarity
		if i == 0 {
			s.Span, s.Points = p.SourceSpan, p.SourcePoints
			continue
		}
		s.Span.Start, s.Span.End = min(s.Span.Start, p.SourceSpan.Start), max(s.Span.End, p.SourceSpan.End)
		if s.Points.Len() == 0 || p.SourcePoints.Len() == 0 {
			s.Points = concordat.Span{}
			continue
		}
		s.Points.Start, s.Points.End = min(s.Points.Start, p.SourcePoints.Start), max(s.Points.End, p.SourcePoints.End)
	}
	s.Similarity = min(weighted/float64(total), 1)
	s.Kind = most(s.Kinds, concordat.KindParaphrase)
	switch c.excluded {
	case concordat.ExcludedCommon:
		s.Kind = concordat.KindCommon
	case concordat.ExcludedForm:
		s.Kind = concordat.KindForm
	case concordat.ExcludedSentence:
		s.Kind = concordat.KindSentence
	case concordat.ExcludedUndecided:
		s.Kind = concordat.KindUndecided
	}
	return s
}

// mostly returns the kind with the most characters; the stronger kind wins a tie.
func mostly(byKind map[concordat.Kind]int) concordat.Kind {
	var kinds []concordat.Kind
	for k := range byKind {
		kinds = append(kinds, k)
	}
	return slices.MinFunc(kinds, func(x, y concordat.Kind) int {
		return cmp.Or(cmp.Compare(byKind[y], byKind[x]), cmp.Compare(strength(x), strength(y)), cmp.Compare(x, y))
	})
}

// claimsOf returns all passages of chains, in order of start. Each byte belongs to the strongest kind that covers it.
func claimsOf(chains []*chain) []claim {
	var out []claim
	for _, c := range chains {
		for _, p := range c.raw {
			out = append(out, claim{p.Span, p.Kind, byStrength(p)})
		}
	}
	sortClaims(out)
	return out
}

// byStrength returns the rank of a passage, given by its kind.
func byStrength(p concordat.Passage) float64 { return -float64(strength(p.Kind)) }

// most returns the first of kinds, or otherwise if kinds is empty.
func most(kinds []concordat.KindCount, otherwise concordat.Kind) concordat.Kind {
	if len(kinds) == 0 {
		return otherwise
	}
	return kinds[0].Kind
}

// divided returns how many characters of s belong to each kind, most characters first; the claims must cover s and be in
// order of start.
func (b *builder) divided(claims []claim, s spans) []concordat.KindCount {
	of := map[concordat.Kind]spans{}
	sweep(claims, func(at concordat.Span, best claim) { of[best.kind] = append(of[best.kind], at) })
	var out []concordat.KindCount
	for k, held := range of {
		if n := b.count.sum(held.and(s)); n > 0 {
			out = append(out, concordat.KindCount{Kind: k, Characters: n})
		}
	}
	slices.SortFunc(out, func(x, y concordat.KindCount) int {
		return cmp.Or(cmp.Compare(y.Characters, x.Characters), cmp.Compare(strength(x.Kind), strength(y.Kind)), cmp.Compare(x.Kind, y.Kind))
	})
	return out
}
