package report

import (
	"cmp"
	"strings"
)

// RuleWords says the rules of a report, one line each.
func (r *Report) RuleWords() []string {
	u, l := r.Rules, r.Language
	yes := func(out bool) string { return l.Say(map[bool]string{true: "excluded", false: "counted"}[out]) }
	out := []string{
		l.Say("Quotations: %s.", yes(u.ExcludeQuotes)),
		l.Say("List of references: %s.", yes(u.ExcludeBibliography)),
		l.Say("Citation markers: %s.", yes(u.ExcludeCitations)),
	}
	if n := len(r.Templates); n > 0 {
		out = append(out, l.Say("Wording of %s: %s.", l.Plural(n, "registered template", "registered templates"), yes(!u.CountTemplates)))
	}
	if u.MinCharacters > 0 {
		out = append(out, l.Say("Least length of a match: %s.", l.Plural(u.MinCharacters, "letter or digit", "letters and digits")))
	} else {
		out = append(out, l.Say("Least length of a match: none."))
	}
	out = append(out, l.Say("Sentences that stand alone: %s.", yes(!u.CountSentences)))
	out = append(out, l.Say("Wording that reads like a form: %s.", yes(!u.CountForms)))
	if u.MinSourceShare > 0 {
		out = append(out, l.Say("Least share of a source: %s.", l.percent1(u.MinSourceShare)))
	}
	switch {
	case u.CommonAbove < 0:
		out = append(out, l.Say("Common wording: counted."))
	default:
		out = append(out, l.Say("Common wording: what at least a fifth of the documents asked hold, at least three, or more than %d of them, gives no score; nor does the form that a call among them answered.", cmp.Or(u.CommonAbove, DefaultCommonAbove)))
	}
	for _, k := range u.ExcludeKinds {
		out = append(out, l.Say("Excluded: passages of the kind “%s”.", l.Kind(k)))
	}
	for _, s := range u.ExcludeSections {
		out = append(out, l.Say("Excluded: section “%s”.", s))
	}
	for _, s := range u.ExcludeSources {
		out = append(out, l.Say("Excluded: source %s.", strings.TrimRight(s.String(), "/")))
	}
	for _, s := range u.OwnWork {
		out = append(out, l.Say("Excluded as earlier work of the author: %s.", strings.TrimRight(s.String(), "/")))
	}
	if n := len(u.ExcludeTemplate); n > 0 {
		out = append(out, l.Say("Excluded: wording of %s.", l.Plural(n, "given template", "given templates")))
	}
	return out
}
