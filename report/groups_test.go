package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/report"
)

const (
	groupBare     = "The ferries of the upper lake were sold in the year of the flood to a company that never ran them."
	groupCited    = "Every keeper of a lighthouse wrote the state of the lamp into a book that nobody read"
	groupUnmarked = "a harbour without a master is a harbour that every captain believes to be his own"
	groupQuoted   = "“The dredger was moored for eleven winters before anybody asked whose dredger it might have been.”"
	groupBoth     = "“No pilot was ever paid in full, and no pilot who asked for the rest was ever hired again in this port.”"
	groupBehind   = "The tide tables were printed in two colours, and the second colour was never once explained."
)

// groupText has one passage of each group; a citation at the end of a sentence does not apply to the next sentence.
var groupText = "Lakes\n\n" + groupBare + " The chapter turns to the coast.\n\n" + groupCited + " (Hall, 2008). " + groupBehind +
	"\n\nAs Hall (2008) shows, " + groupUnmarked +
	".\n\nAn old saying: " + groupQuoted + " It is told in many towns and by many people who never saw the sea." +
	"\n\nHall (2008, p. 12) writes: " + groupBoth +
	" The rest of this text is the author's own and says whatever the author wished to say about harbours, ferries and lamps, at some length."

func grouped() *report.Findings {
	f := &report.Findings{Submission: concordat.Document{Text: groupText}}
	for i, part := range []string{groupBare, groupCited, groupBehind, groupUnmarked, groupQuoted, groupBoth} {
		f.Passages = append(f.Passages, passageOf(groupText, part, string(rune('a'+i))))
	}
	return f
}

// TestGroups: quotation marks and citations determine the group of a passage. A group that does not count removes only its own letters
// from the share, whether or not the text is kept, and leaves the shares of the other groups unchanged.
func TestGroups(t *testing.T) {
	f := grouped()
	withheld := grouped()
	report.Withhold(withheld)
	whole := report.Build(f, report.Rules{})
	var got []concordat.Group
	for _, e := range whole.Evidence {
		got = append(got, e.Group)
	}
	want := []concordat.Group{concordat.GroupUncited, concordat.GroupUnquoted, concordat.GroupUncited, concordat.GroupUnquoted,
		concordat.GroupUnsourced, concordat.GroupQuotedCited}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("groups of the passages: %s", diff)
	}
	sum := 0.0
	for _, g := range whole.Groups {
		sum += g.Share
		if !g.Counts || g.Passages == 0 {
			t.Errorf("%+v", g)
		}
	}
	if math.Abs(sum-whole.Scores.Covered) > 1e-9 {
		t.Errorf("the groups make %v, the share is %v", sum, whole.Scores.Covered)
	}
	for i, g := range report.Groups() {
		rules := report.WithGroup(report.Rules{}, g, false)
		r := report.Build(f, rules)
		if d := whole.Scores.Covered - whole.Groups[i].Share - r.Scores.Covered; math.Abs(d) > 1e-9 {
			t.Errorf("without %s the share is %v, want %v less %v", g, r.Scores.Covered, whole.Scores.Covered, whole.Groups[i].Share)
		}
		if r.Scores.Countable != whole.Scores.Countable {
			t.Errorf("without %s %d letters could count, before %d", g, r.Scores.Countable, whole.Scores.Countable)
		}
		for k, x := range r.Groups {
			if x.Counts != (x.Group != g) || x.Share != whole.Groups[k].Share || x.Passages != whole.Groups[k].Passages {
				t.Errorf("without %s: %+v", g, x)
			}
		}
		for k, e := range r.Evidence {
			if (e.Excluded == concordat.ExcludedGroup) != (e.Group == g) || e.Span != whole.Evidence[k].Span {
				t.Errorf("without %s: %+v", g, e)
			}
		}
		if hidden := report.Build(withheld, rules); hidden.Scores.Covered != r.Scores.Covered {
			t.Errorf("without %s and without the text the share is %v, with it %v", g, hidden.Scores.Covered, r.Scores.Covered)
		}
		if words := strings.Join(r.RuleWords(), "\n"); !strings.Contains(words, "the group “"+report.GroupName(r.Language, g)+"”") {
			t.Errorf("the rules do not say %s:\n%s", g, words)
		}
		one := rules
		for _, e := range r.Evidence {
			if e.Group == g {
				one.CountWording = append(one.CountWording, report.CountedWording{Span: e.Span, Comment: "counts all the same", By: "anna"})
			}
		}
		if again := report.Build(f, one); math.Abs(again.Scores.Covered-whole.Scores.Covered) > 1e-9 {
			t.Errorf("%s counted by hand: %v, want %v", g, again.Scores.Covered, whole.Scores.Covered)
		}
		if back := report.WithGroup(rules, g, true); len(back.ExcludeGroups) != 0 {
			t.Errorf("%s counts again: %v", g, back.ExcludeGroups)
		}
	}
	if err := (&report.Rules{ExcludeGroups: []string{"song"}}).Validate(); err == nil {
		t.Error("a group that there is not is accepted")
	}
}

// TestCountedQuotations: a recognised quotation with its source can be counted by hand, or a rule can count all of them, even if
// quotations are excluded; the other groups do not change.
func TestCountedQuotations(t *testing.T) {
	f := grouped()
	at := f.Passages[5].Span
	f.Wording = []report.Wording{{Span: at, Kind: concordat.KindQuotation, Documents: 2, Of: 9, Why: "quotation"}}
	f.WordingOf = 9
	f.Passages[5].Wording, f.Passages[5].Why = concordat.KindQuotation, "quotation"
	last := func(rules report.Rules) (report.GroupShare, concordat.Exclusion, float64) {
		r := report.Build(f, rules)
		return r.Groups[3], r.Evidence[len(r.Evidence)-1].Excluded, r.Scores.Covered
	}
	g, why, none := last(report.Rules{})
	if g.Counts || g.Passages != 0 || g.Others != 1 || why != concordat.ExcludedQuote {
		t.Errorf("recognised: %+v, %s", g, why)
	}
	if words := report.GroupFigure(report.English, g); words != "1 passage, not counted" {
		t.Errorf("its figure: %s", words)
	}
	byRule := report.WithGroup(report.Rules{}, concordat.GroupQuotedCited, true)
	g, why, ruled := last(byRule)
	if !g.Counts || g.Passages != 1 || why != "" || ruled <= none {
		t.Errorf("by the rule: %+v, %s, %v", g, why, ruled)
	}
	hand := report.Rules{CountWording: []report.CountedWording{{Span: at, Comment: "too long", By: "anna"}}}
	if _, why, share := last(hand); why != "" || share != ruled {
		t.Errorf("by hand: %s, %v, want %v", why, share, ruled)
	}
	hand.ExcludeQuotes = true
	if _, why, share := last(hand); why != "" || share <= 0 {
		t.Errorf("by hand where quotations are excluded: %s, %v", why, share)
	}
	off := report.WithGroup(report.Rules{}, concordat.GroupQuotedCited, false)
	if again := report.WithGroup(off, concordat.GroupQuotedCited, true); again.CountQuotations {
		t.Errorf("a group that was left out and is counted again counts legitimate quotations too: %+v", again)
	}
	if back := report.WithGroup(byRule, concordat.GroupQuotedCited, false); back.CountQuotations {
		t.Errorf("taken back: %+v", back)
	}
	quotes := report.Rules{ExcludeQuotes: true}
	one := report.WithGroup(quotes, concordat.GroupUnsourced, true)
	if diff := cmp.Diff(report.Rules{ExcludeGroups: []string{"quoted_cited"}}, one, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("one group of quotations counts again: %s", diff)
	}
	if g, _, _ := last(one); g.Counts {
		t.Errorf("the other group counts too: %+v", g)
	}
	if r := report.Build(f, one); !r.Groups[2].Counts || r.Groups[2].Passages != 1 {
		t.Errorf("it does not: %+v", r.Groups[2])
	}
}
