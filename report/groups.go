package report

import (
	"cmp"
	"slices"
	"strings"

	"concordat"
)

// GroupShare is a group of passages and its share of the text that could count.
type GroupShare struct {
	Group    concordat.Group
	Passages int     // passages that count, or would if the rules did not exclude their group
	Share    float64 // share of those passages
	Percent  int     // Share as displayed; the percentages of counting groups add up to the report's percentage
	Counts   bool    // whether the group's passages count
	Others   int     // passages in the group that other rules exclude
	Quotes   int     // quotations among Others
}

// Groups returns all groups in display order.
func Groups() []concordat.Group {
	return []concordat.Group{concordat.GroupUncited, concordat.GroupUnquoted, concordat.GroupUnsourced, concordat.GroupQuotedCited}
}

// GroupName returns the name of a group for use in mid-sentence.
func GroupName(l Language, g concordat.Group) string {
	return l.Say(map[concordat.Group]string{concordat.GroupUncited: "no citation", concordat.GroupUnquoted: "citation without quotation marks",
		concordat.GroupUnsourced: "quotation without source", concordat.GroupQuotedCited: "quoted and cited"}[g])
}

// GroupTitle returns GroupName with an initial capital.
func GroupTitle(l Language, g concordat.Group) string {
	return strings.TrimRight(asSentence(GroupName(l, g)), ".")
}

// GroupFigure describes a group's share of the text, or how many of its passages do not count.
func GroupFigure(l Language, g GroupShare) string {
	switch {
	case g.Counts || g.Passages > 0:
		share := g.Share
		if share > 0 && g.Percent > 0 {
			share = float64(g.Percent) / 100
		}
		if g.Counts {
			return l.Percent(share)
		}
		return l.Say("%s, not counted", l.Percent(share))
	}
	return l.Say("%s, not counted", l.Plural(g.Others, "passage", "passages"))
}

// WithGroup returns a copy of r in which the passages of a group do or do not count.
func WithGroup(r Rules, g concordat.Group, counts bool) Rules {
	out := map[concordat.Group]bool{}
	for _, x := range r.ExcludeGroups {
		out[concordat.Group(x)] = true
	}
	out[g] = !counts
	if quoted := g == concordat.GroupUnsourced || g == concordat.GroupQuotedCited; quoted && counts && r.ExcludeQuotes {
		r.ExcludeQuotes = false // the other group of quotations remains excluded
		out[concordat.GroupUnsourced], out[concordat.GroupQuotedCited] = g != concordat.GroupUnsourced, g != concordat.GroupQuotedCited
	}
	// When an excluded group counts again, quotations that never counted remain excluded.
	if g == concordat.GroupQuotedCited && (!counts || !slices.Contains(r.ExcludeGroups, string(g))) {
		r.CountQuotations = counts
	}
	r.ExcludeGroups = nil
	for _, x := range Groups() {
		if out[x] {
			r.ExcludeGroups = append(r.ExcludeGroups, string(x))
		}
	}
	return r
}

// groupOf returns the group of a passage. A passage is a quotation if nearly all of it is in quotation marks. The quotation names its
// source if a citation lies in it, right after it, or before it in the same clause. A quotation recognised by its source also counts as
// naming its source.
func groupOf(b *builder, e concordat.Evidence) concordat.Group {
	n := float64(b.count.Characters(e.Span))
	legal := float64(b.count.sum(spans{e.Span}.and(b.legal))) >= mostlyQuoted*n
	quoted := legal || float64(b.count.sum(spans{e.Span}.and(b.quotes))) >= mostlyQuoted*n
	cited := legal || e.Cited || introduced(b, e.Span)
	switch {
	case quoted && cited:
		return concordat.GroupQuotedCited
	case quoted:
		return concordat.GroupUnsourced
	case cited:
		return concordat.GroupUnquoted
	}
	return concordat.GroupUncited
}

// introduced reports whether a citation precedes s in the same clause.
func introduced(b *builder, s concordat.Span) bool {
	from := max(0, s.Start-leadIn)
	before := spans{{Start: from, End: s.Start}}
	cites := b.citations.from(before)
	last := -1
	for _, c := range cites {
		if c.End > s.Start {
			break
		}
		if c.Start >= from {
			last = c.End
		}
	}
	return last >= 0 && !clauseEnd.MatchString(strings.TrimRight(b.text[max(from, last-3):s.Start], "\"“„«「『‘'"))
}

// groupShares totals the groups of passages before the rules exclude any.
func groupShares(b *builder, evidence []concordat.Evidence) []GroupShare {
	if b.measured == 0 {
		return nil
	}
	out := make([]GroupShare, 0, len(Groups()))
	for _, g := range Groups() {
		x := GroupShare{Group: g, Counts: !slices.Contains(b.r.ExcludeGroups, string(g))}
		characters := 0
		for _, e := range evidence {
			switch {
			case e.Group != g:
			case e.Excluded == "":
				x.Passages++
				characters += e.Characters
			default:
				x.Others++
				if e.Excluded == concordat.ExcludedQuote && (g == concordat.GroupUnsourced || g == concordat.GroupQuotedCited) {
					x.Quotes++
				}
			}
		}
		if b.countable > 0 {
			x.Share = min(1, float64(characters)/float64(b.countable))
		}
		x.Counts = x.Counts && (x.Passages > 0 || x.Quotes == 0)
		out = append(out, x)
	}
	return out
}

// inPercent sets percentages that add up to the total share across counting groups despite rounding (method of largest remainders).
func inPercent(groups []GroupShare, covered float64) {
	var counting []int
	left := int(covered*100 + 0.5)
	for i := range groups {
		g := &groups[i]
		g.Percent = int(g.Share*100 + 0.5)
		if g.Counts && g.Passages > 0 {
			counting = append(counting, i)
			g.Percent = int(g.Share * 100)
			left -= g.Percent
		}
	}
	slices.SortStableFunc(counting, func(i, j int) int {
		rest := func(k int) float64 { return groups[k].Share*100 - float64(groups[k].Percent) }
		return cmp.Compare(rest(j), rest(i))
	})
	for _, i := range counting[:min(max(left, 0), len(counting))] {
		groups[i].Percent++
	}
}

// leaveGroups excludes the passages of excluded groups, except those that a person chose to count, and reports whether it excluded any.
func leaveGroups(b *builder, evidence []concordat.Evidence) bool {
	var out []concordat.Span
	for _, e := range evidence {
		if e.Excluded == "" && slices.Contains(b.r.ExcludeGroups, string(e.Group)) {
			out = append(out, e.Span)
		}
	}
	if out == nil {
		return false
	}
	b.masks = append(slices.Clip(b.masks), mask{concordat.ExcludedGroup, union(out).without(b.counted)})
	b.masked = union(append(slices.Clone(b.masked), b.masks[len(b.masks)-1].spans...))
	return true
}

// ShownGroups returns the groups of a report that have passages.
func ShownGroups(r *Report) []GroupShare {
	return slices.DeleteFunc(slices.Clone(r.Groups), func(g GroupShare) bool { return g.Passages == 0 && (g.Counts || g.Others == 0) })
}
