package report

import (
	"slices"

	"concordat"
)

// WithoutWording returns a report without the wording of its sources, but with its places, titles, kinds and scores. It also removes
// people's comments from the rules. It does not modify r.
func WithoutWording(r *Report) *Report {
	out := *r
	out.Evidence = slices.Clone(r.Evidence)
	for i := range out.Evidence {
		e := &out.Evidence[i]
		e.Sources = slices.Clone(e.Sources)
		for k := range e.Sources {
			s := &e.Sources[k]
			s.Parts = slices.Clone(s.Parts)
			for n := range s.Parts {
				p := &s.Parts[n]
				p.Text, p.Before, p.After, p.Words, p.Shared = "", "", "", nil, nil
			}
		}
	}
	out.Leads = withoutWording(r.Leads)
	out.Rules.CountLeads, out.Rules.SetAsideLeads = unsigned(r.Rules.CountLeads), unsigned(r.Rules.SetAsideLeads)
	if r.Short != nil {
		out.Short = r.Short.withoutWording()
	}
	out.Templates = slices.Clone(r.Templates)
	for i := range out.Templates {
		out.Templates[i].Text = ""
	}
	out.Rules.ExcludeTemplate = nil
	out.Rules.ExcludePassages = slices.Clone(r.Rules.ExcludePassages)
	for i := range out.Rules.ExcludePassages {
		out.Rules.ExcludePassages[i].Comment, out.Rules.ExcludePassages[i].By = "", ""
	}
	out.Rules.CountWording = slices.Clone(r.Rules.CountWording)
	for i := range out.Rules.CountWording {
		out.Rules.CountWording[i].Comment, out.Rules.CountWording[i].By = "", ""
	}
	out.Review = nil
	out.Disclosures, out.Statements = nil, nil // requests to partners, and their signed answers
	return &out
}

// FlagScoresOnly is the code of the flag on reports returned by ScoreOnly.
const FlagScoresOnly = "scores_only"

// scoresOnly reports whether the report was returned by ScoreOnly.
func (r *Report) scoresOnly() bool {
	return slices.ContainsFunc(r.Flags, func(f concordat.Flag) bool { return f.Code == FlagScoresOnly })
}

// NoPassages explains why a report lists no passages, in English, for translation: none exist, or they are withheld.
func (r *Report) NoPassages() string {
	if r.scoresOnly() {
		return "The passages are not shown."
	}
	return "No passage was found."
}

// NoSources is the counterpart of NoPassages for sources.
func (r *Report) NoSources() string {
	if r.scoresOnly() {
		return "The sources are not shown."
	}
	return "No source was found."
}

// Count formats n, the number of passages or sources in a report, or returns "" if they are withheld.
func (r *Report) Count(n int) string {
	if r.scoresOnly() {
		return ""
	}
	return Thousands(r.Language, n)
}

// ScoreOnly returns a report with scores but not where they come from: no passages, no sources, no libraries. It does not modify r.
func ScoreOnly(r *Report) *Report {
	out := &Report{Task: r.Task, Submission: r.Submission, Digest: r.Digest, Scheme: r.Scheme, Made: r.Made, Probe: r.Probe,
		Forward: r.Forward, Threshold: r.Threshold, Language: r.Language, Scores: r.Scores, Checked: r.Checked, Skipped: r.Skipped,
		Dated: r.Dated, Account: r.Account}
	out.Rules = Rules{}.Over(r.Rules) // only rules for a whole report; the others name findings
	out.Rules.ExcludeKinds, out.Rules.ExcludeSections = nil, nil
	for _, f := range r.Flags {
		if f.Code == FlagWithheld {
			out.Flags = append(out.Flags, f)
		}
	}
	out.Flags = append(out.Flags, concordat.Flag{Code: FlagScoresOnly,
		Detail: "The scores count passages and sources that this report does not show."})
	for _, c := range r.Consulted { // gaps in measurement are part of the score
		out.Consulted = append(out.Consulted, concordat.Consulted{Asked: c.Asked, Answered: c.Answered})
	}
	return out
}

func (s *ShortTexts) withoutWording() *ShortTexts {
	out := *s
	out.Pieces = slices.Clone(s.Pieces)
	for i := range out.Pieces {
		p := &out.Pieces[i]
		p.Sources = slices.Clone(p.Sources)
		for k := range p.Sources {
			p.Sources[k].Text = ""
		}
	}
	return &out
}
