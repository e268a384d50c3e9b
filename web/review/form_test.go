package review

import (
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/report"
)

// sentBack returns the fields that a browser sends for an unchanged form of rules.
func sentBack(fields []RuleField) url.Values {
	f := url.Values{}
	for _, x := range fields {
		switch x.Kind {
		case "box":
			f.Add(x.Name, "")
			if x.On {
				f.Add(x.Name, "on")
			}
		case "words", "texts":
			f.Add(x.Name, "")
			for _, o := range x.Options {
				f.Add(x.Name+offered, o.Value)
				if o.On {
					f.Add(x.Name, o.Value)
				}
			}
		default:
			f.Set(x.Name, x.Value)
		}
	}
	return f
}

// TestRuleFormSpeaksInOneDirection: every tick in the form of rules means that something counts, and an unchanged form changes no rule.
func TestRuleFormSpeaksInOneDirection(t *testing.T) {
	sections := []string{"body", "notes"}
	all := report.Rules{ExcludeQuotes: true, ExcludeBibliography: true, ExcludeCitations: true, CountTemplates: true, CountForms: true,
		CountQuotations: true, ExcludeGroups: []string{"unquoted", "quoted_cited"}, CountSentences: true, CommonAbove: -1,
		MinCharacters: 5, ExcludeKinds: []concordat.Kind{concordat.KindSummary},
		ExcludeSections: []string{"elsewhere", "notes"}}
	for _, rules := range []report.Rules{{}, all} {
		got, err := ReadRules(rules, sentBack(RuleFields(rules, nil, sections)))
		if diff := cmp.Diff(rules, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v: a form that nobody touched changes\n%s", err, diff)
		}
	}
	f := sentBack(RuleFields(all, nil, sections))
	for _, x := range RuleFields(all, nil, sections) {
		switch x.Kind {
		case "box":
			f[x.Name] = []string{"", "on"}
		case "words", "texts":
			for _, o := range x.Options {
				f.Add(x.Name, o.Value)
			}
		}
	}
	got, err := ReadRules(all, f)
	want := report.Rules{CountTemplates: true, CountForms: true, CountQuotations: true, CountSentences: true,
		CommonAbove: -1, MinCharacters: 5,
		ExcludeSections: []string{"elsewhere"}} // not offered by the form
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v: with every tick\n%s", err, diff)
	}
	shown := RuleFields(report.Rules{}, f, sections)
	if slices.ContainsFunc(shown, func(x RuleField) bool { return x.Kind == "box" && !x.On }) {
		t.Errorf("a form that is shown again lost a tick: %+v", shown)
	}
}
