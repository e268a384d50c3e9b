package report

import (
	"cmp"
	"slices"

	"concordat"
)

// SourceWork is the known description of a source's work.
type SourceWork struct {
	Source concordat.Ref  `json:"source"`
	Work   concordat.Work `json:"work,omitzero"`
	// Authors lists the authors known to the library, if Work names none.
	Authors []concordat.Creator `json:"authors,omitempty"`
	// Same is the source that represents all texts of this work, or zero if there is only one text. [JoinWorks] sets it.
	Same concordat.Ref `json:"same,omitzero"`
	// Text is a digest of the whole text for JoinWorks, or empty if unknown.
	Text string `json:"-"`
}

// creators returns the known authors.
func (w SourceWork) creators() []concordat.Creator {
	if len(w.Work.Creators) > 0 {
		return w.Work.Creators
	}
	return w.Authors
}

// sharesID reports whether two sources share a persistent identifier.
func (w SourceWork) sharesID(x SourceWork) bool {
	return slices.ContainsFunc(w.Work.IDs, func(id concordat.WorkID) bool { return id.OfWork() && slices.Contains(x.Work.IDs, id) })
}

// isProved reports whether two texts of one work are certainly by the same author: they share an identifier, or their known authors
// agree. A text without a known author could be a copy submitted by anyone.
func (w SourceWork) isProved(x SourceWork) bool {
	if w.sharesID(x) {
		return true
	}
	_, _, by := samePerson(w.creators(), x.creators())
	return by != ""
}

// isApart reports whether two sources with the same text are nevertheless separate works: their authors differ, or one library has both
// and their authors are not known to agree, for example because two students submitted one text.
func (w SourceWork) isApart(x SourceWork) bool {
	if w.isProved(x) {
		return false
	}
	return w.Source.Site == x.Source.Site && w.Source.Library == x.Source.Library || len(w.creators()) > 0 && len(x.creators()) > 0
}

// isSame reports whether two sources are texts of one work: they share a persistent identifier, or have the same text and are not known
// to be separate works. A shared title proves nothing.
func (w SourceWork) isSame(x SourceWork) bool {
	return w.sharesID(x) || w.Text != "" && w.Text == x.Text && !w.isApart(x)
}

// JoinWorks determines which sources are texts of one work, and sets the Same fields in f.Works. A work is represented by the source that
// contains most of the submission; ties go to a source that has a page at its repository.
func JoinWorks(f *Findings) {
	works := f.Works
	group := make([]int, len(works)) // first source of the same work
	members := make([][]int, len(works))
	for i := range works {
		group[i], members[i] = i, []int{i}
	}
	// joins reports whether two groups can be one work, that is, whether no two of their texts are known to be separate works. A text
	// without an author does not join texts of two authors.
	joins := func(a, b int) bool {
		return !slices.ContainsFunc(members[a], func(i int) bool {
			return slices.ContainsFunc(members[b], func(j int) bool { return works[i].isApart(works[j]) })
		})
	}
	// Only sources with a common identifier or text can be the same work.
	by := map[string][]int{}
	for i, w := range works {
		keys := []string{"text " + w.Text}
		if w.Text == "" {
			keys = nil
		}
		for _, id := range w.Work.IDs {
			if id.OfWork() {
				keys = append(keys, id.Scheme+" "+id.Value)
			}
		}
		for _, k := range keys {
			for _, j := range by[k] {
				a, b := min(group[i], group[j]), max(group[i], group[j])
				if a == b || !works[j].isSame(w) || !works[j].sharesID(w) && !joins(a, b) {
					continue
				}
				for _, k := range members[b] {
					group[k] = a
				}
				members[a], members[b] = append(members[a], members[b]...), nil
			}
			by[k] = append(by[k], i)
		}
	}
	held := heldBy(f)
	for _, all := range members {
		if len(all) < 2 {
			continue
		}
		first := slices.MinFunc(all, func(i, j int) int {
			a, b := works[i], works[j]
			return cmp.Or(cmp.Compare(held[b.Source], held[a.Source]), cmp.Compare(boolInt(a.Work.PageURL() == ""), boolInt(b.Work.PageURL() == "")),
				compareRefs(a.Source, b.Source))
		})
		for _, i := range all {
			works[i].Same = works[first].Source
		}
	}
}

// heldBy returns the number of bytes of the submission that each source contains.
func heldBy(f *Findings) map[concordat.Ref]int {
	of := map[concordat.Ref][]concordat.Span{}
	for _, p := range f.Passages {
		of[p.Source] = append(of[p.Source], clip(f.Submission.Text, p.Span))
	}
	out := map[concordat.Ref]int{}
	for ref, all := range of {
		for _, s := range union(all) {
			out[ref] += s.Len()
		}
	}
	return out
}

// copies holds the sources that are texts of one work. They count as one source in a report.
type copies struct {
	known map[concordat.Ref]SourceWork
	of    map[concordat.Ref][]concordat.Ref // keyed by the source that represents them, which comes first
}

func newCopies(works []SourceWork) copies {
	c := copies{map[concordat.Ref]SourceWork{}, map[concordat.Ref][]concordat.Ref{}}
	for _, w := range works {
		c.known[w.Source] = w
		if w.Same != (concordat.Ref{}) {
			c.of[w.Same] = append(c.of[w.Same], w.Source)
		}
	}
	for first, all := range c.of {
		slices.SortFunc(all, func(x, y concordat.Ref) int {
			return cmp.Or(cmp.Compare(boolInt(x != first), boolInt(y != first)), compareRefs(x, y))
		})
	}
	return c
}

// first returns the source that represents all texts of a source's work, usually the source itself.
func (c copies) first(ref concordat.Ref) concordat.Ref {
	if w := c.known[ref]; w.Same != (concordat.Ref{}) {
		return w.Same
	}
	return ref
}

// all returns the texts of a source's work, including the source itself.
func (c copies) all(ref concordat.Ref) []concordat.Ref {
	if all := c.of[c.first(ref)]; len(all) > 0 {
		return all
	}
	return []concordat.Ref{ref}
}

// extend applies rules about one text of a work to all its texts. A rule that excludes a whole library excludes only the texts there; if
// another library has the work, it remains a source. A work marked as the author's own is excluded for every text that is certainly
// theirs.
func (c copies) extend(sources, own refSet) {
	for _, all := range c.of {
		if slices.ContainsFunc(all, func(r concordat.Ref) bool { return sources[r] }) {
			for _, r := range all {
				sources[r] = true
			}
		}
		given := slices.DeleteFunc(slices.Clone(all), func(r concordat.Ref) bool { return !own.has(r) })
		for _, r := range all {
			if slices.ContainsFunc(given, func(o concordat.Ref) bool { return c.known[o].isProved(c.known[r]) }) {
				own[r] = true
			}
		}
	}
}

// oneCopy removes passages that another text of the same work also contains. Passages in only one text of a work remain, since texts of
// one work can differ.
func (b *builder) oneCopy() []concordat.Passage {
	if len(b.copies.of) == 0 {
		return b.passages
	}
	at := map[concordat.Ref][]int{}
	for i, p := range b.passages {
		if b.copies.known[p.Source].Same != (concordat.Ref{}) {
			at[p.Source] = append(at[p.Source], i)
		}
	}
	drop := map[int]bool{}
	for _, all := range b.copies.of {
		// Excluded texts go to the end.
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(x, y concordat.Ref) int { return cmp.Compare(boolInt(b.sources.has(x)), boolInt(b.sources.has(y))) })
		var held, evidence spans // shared wording never replaces evidence
		for k, ref := range all {
			var here, counts []concordat.Span
			for _, i := range at[ref] {
				p := b.passages[i]
				known := held
				if p.Wording == "" {
					known = evidence
				}
				if k > 0 && b.count.sum(spans{p.Span}.without(known)) <= joinGap {
					drop[i] = true
					continue
				}
				if here = append(here, p.Span); p.Wording == "" {
					counts = append(counts, p.Span)
				}
			}
			held, evidence = union(slices.Concat(held, here)), union(slices.Concat(evidence, counts))
		}
	}
	out := make([]concordat.Passage, 0, len(b.passages)-len(drop))
	for i, p := range b.passages {
		if !drop[i] {
			out = append(out, p)
		}
	}
	return out
}

// bySource groups the indices of chains by source, ordered by each source's first chain.
func (b *builder) bySource(chains []*chain) [][]int {
	var out [][]int
	at := map[concordat.Ref]int{}
	for i, c := range chains {
		first := b.copies.first(c.ref)
		k, ok := at[first]
		if !ok {
			k, at[first] = len(out), len(out)
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// Copy is another location of a source's work.
type Copy struct {
	concordat.Ref
	Title string
	Page  string // address of the repository's landing page; empty if unknown
}

// asWork adds to a source what is known about its work: other locations, and whether it might be the author's own. The title and the
// place come from the representative text.
func (b *builder) asWork(s *RankedSource, cs []*chain) {
	first := b.copies.first(cs[0].ref)
	order := func(c *chain) int { return 2*boolInt(c.excluded != "") + boolInt(c.ref != first) }
	main := slices.MinFunc(cs, func(x, y *chain) int { return cmp.Compare(order(x), order(y)) })
	s.Ref = main.ref
	if main.title != "" {
		s.Title = main.title
	}
	for _, ref := range b.copies.all(s.Ref) {
		if w := b.copies.known[ref]; ref != s.Ref {
			s.Also = append(s.Also, Copy{ref, cmp.Or(b.titles[ref], w.Work.Title), w.Work.PageURL()})
		}
	}
	if w := b.copies.joined(s.Ref); !isUnknown(w) {
		s.Work = &w
	}
	if s.Excluded != concordat.ExcludedOwn {
		s.Own = b.ownWork(s.Ref)
	}
}

// joined returns what is known about a source's work. Facts missing from its own repository are taken from the work's other texts; the
// page is always its own repository's.
func (c copies) joined(ref concordat.Ref) concordat.Work {
	out := c.known[ref].Work
	out.IDs = slices.Clone(out.IDs)
	for _, other := range c.all(ref) {
		w := c.known[other].Work
		if len(out.Creators) == 0 {
			out.Creators = w.Creators
		}
		out.Date, out.License = cmp.Or(out.Date, w.Date), cmp.Or(out.License, w.License)
		for _, id := range w.IDs {
			if !slices.Contains(out.IDs, id) {
				out.IDs = append(out.IDs, id)
			}
		}
	}
	return out
}

// isUnknown reports whether a repository supplied no facts about a work.
func isUnknown(w concordat.Work) bool {
	return len(w.Creators) == 0 && len(w.IDs) == 0 && w.Date == "" && w.License == "" && w.Page == ""
}

// firstCopies keeps the first of several items that say the same about different texts of a work. Items must be in display order.
func firstCopies[T any](c copies, items []T, key func(T) (concordat.Ref, any)) []T {
	if len(c.of) == 0 {
		return items
	}
	type place struct {
		first concordat.Ref
		what  any
	}
	seen := map[place]concordat.Ref{}
	return slices.DeleteFunc(slices.Clone(items), func(x T) bool {
		ref, what := key(x)
		p := place{c.first(ref), what}
		other, ok := seen[p]
		if !ok {
			seen[p] = ref
		}
		return ok && other != ref
	})
}

// AllPlaces returns the locations of a source: its own, then those of other texts of the same work.
func (s RankedSource) AllPlaces() []concordat.Ref {
	out := []concordat.Ref{s.Ref}
	for _, c := range s.Also {
		out = append(out, c.Ref)
	}
	return out
}
