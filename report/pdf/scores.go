package pdf

import "concordat/report"

// scores writes the shares as a table.
func (d *doc) scores() {
	s := d.r.Scores
	say := func(s string) string {
		if s == "" {
			return ""
		}
		return d.in.Say(s)
	}
	rows := [][]string{
		{say("Found in other documents, counted"), d.in.Percent(s.Covered), say("each letter once, however many sources contain it")},
		{say("of this, word for word"), d.in.Percent(s.Verbatim), ""},
		{say("of this, changed"), s.ChangedWords(d.in), say("edited, reworded or condensed")},
	}
	for _, g := range report.ShownGroups(d.r) {
		rows = append(rows, []string{report.GroupTitle(d.in, g.Group), report.GroupFigure(d.in, g), ""})
	}
	if s.Countable < s.Checked {
		rows = append(rows, []string{say("of the whole text"), d.in.Percent(s.Whole), say("including forms, references and the like")})
	}
	rows = append(rows, []string{say("Largest single source"), d.in.Percent(s.Largest), ""})
	if s.Estimate != nil {
		rows = append(rows, []string{say("estimate"),
			d.in.Say("%s to %s", d.in.Percent(s.Estimate.Low), d.in.Percent(s.Estimate.High)), say("only partners hold the texts")})
	}
	if s.Undecided > 0 {
		rows = append(rows, []string{say("To be decided"), d.in.Percent(s.Undecided),
			d.in.Say("a form, or copied? If it counts, the share is %s", d.in.Percent(s.IfCounted))})
	}
	if s.Covered > 0 {
		rows = append(rows, []string{say("How close the wording is"), d.in.Closeness(s.Alike()),
			say("average over what was found: how close it is, not how much there is")})
	}
	rows = append(rows, []string{say("Found within quotations"), d.in.Percent(s.Quoted), s.QuotedWords(d.in, d.r.Rules)},
		[]string{say("Common wording"), d.in.Percent(s.Common), say("shared by many documents, not counted")},
		[]string{say("Excluded by rules"), d.in.Percent(s.ByRules()), say("found, not counted")})
	if s.Template > 0 || len(d.r.Templates) > 0 {
		rows = append(rows, []string{say("of this, template wording"), d.in.Percent(s.Template),
			say("from a form that was handed out, not counted")})
	}
	if s.Form > 0 {
		rows = append(rows, []string{say("of this, wording that reads like a form"), d.in.Percent(s.Form),
			say("no template for it was given; not counted")})
	}
	if s.Leads > 0 {
		rows = append(rows, []string{say("In leads counted by a person"), d.in.Percent(s.Leads),
			say("in addition to the share of evidence, not part of it")})
	}
	d.table(s.OfWhat(d.in), []float64{0.4, 0.15, 0.45},
		nil, rows)
}
