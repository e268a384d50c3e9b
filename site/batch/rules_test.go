package batch_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// TestBatchKeepsItsRules: text excluded by a batch's rules counts neither in its shares nor in the reports of a later process, whatever
// the new configuration says.
func TestBatchKeepsItsRules(t *testing.T) {
	p := sitetest.NewSite(t)
	own := report.Rules{ExcludeQuotes: true}
	b := sitetest.NewBatch(t, p, sitetest.Quoted(), []string{"a.txt", "b.txt", "c.txt"}, batch.Job{NoLibraries: true, Rules: &own})
	v := b.Run(t) // with other rules in the run's options
	if got := v.PairLines(); len(got) != 1 || got[0].A != "b.txt" || got[0].B != "c.txt" {
		t.Errorf("pairs %v, want b and c alone", sitetest.Said(v))
	}
	if s := v.Shares[[2]int{0, 1}]; s != 0 || v.Members[0].Share != 0 {
		t.Errorf("a has %v of b and %v in all, want nothing but the quotation", s, v.Members[0].Share)
	}
	base := report.Rules{ExcludeCitations: true}
	for _, m := range v.Members {
		got, err := site.RulesInForce(t.Context(), p.Store, m.Task, base)
		if err != nil || !cmp.Equal(got, own) {
			t.Errorf("rules of %s: %+v, %v", m.Name, got, err)
		}
	}
	// Rules set later take precedence, and a decision on a pair starts from the batch's rules.
	if err := batch.SetVerdict(t.Context(), p.Site, p.Store, b.BatchID, "officer", v.Members[1].Number, v.Members[2].Number,
		store.VerdictDiscount, "",
		base); err != nil {
		t.Fatal(err)
	}
	got, err := site.RulesInForce(t.Context(), p.Store, v.Members[2].Task, base)
	want := report.Rules{ExcludeQuotes: true, ExcludeSources: []concordat.Ref{{Site: "here", Library: concordat.BatchLibrary(b.BatchID),
		Document: "b.txt"}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	if after := b.View(t).PairLines(); len(after) != 1 || after[0].Counted || after[0].Share != v.PairLines()[0].Share {
		t.Errorf("pairs %+v: a decision changes what counts, not how much two share", after)
	}
	rep, err := batch.PairReport(t.Context(), p.Site, p.Store, b.BatchID, v.Members[2].Number, v.Members[1].Number, base)
	if err != nil || rep.Scores.Covered == 0 || !rep.Rules.ExcludeQuotes || rep.Rules.ExcludeCitations {
		t.Errorf("the pair's report has %v by %+v, %v", rep.Scores.Covered, rep.Rules, err)
	}
	if _, err := site.RulesInForce(t.Context(), p.Store, "none", base); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("rules of no task: %v", err)
	}
}

// TestBatchOfEarlyVersion: a batch without its own rules is shown with the configured rules.
func TestBatchOfEarlyVersion(t *testing.T) {
	p := sitetest.NewSite(t)
	b := sitetest.NewBatch(t, p, sitetest.Quoted(), []string{"a.txt", "b.txt", "c.txt"}, batch.Job{NoLibraries: true})
	b.BatchOptions.Rules = report.Rules{ExcludeQuotes: true}
	v := b.Run(t)
	base := report.Rules{ExcludeBibliography: true}
	if got, err := site.RulesInForce(t.Context(), p.Store, v.Members[0].Task, base); err != nil || !cmp.Equal(got, base) {
		t.Errorf("%+v, %v", got, err)
	}
	if len(v.Pairs) != 1 {
		t.Errorf("pairs %v", sitetest.Said(v))
	}
}
