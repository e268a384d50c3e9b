package batch_test

import (
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

const (
	worksOne = "\n\nReferences\n\n[1] Harrow, B. (1994). Counting wells in dry valleys. Oxbow Press.\n[2] Ndiaye, O. (2007). Notes on the repair of gauges. Journal of Shared Water, 14(2), 101-126.\n[3] Berg, M. (2011). Borders under ground. Water Law Review, 3, 12-40.\n"
	worksTwo = "\n\nBibliography\n\nNdiaye O. Notes on the repair of gauges. J Shared Water. 2007;14(2):101-26.\n\nHarrow, Bea (1994): Counting wells in dry valleys. Oxbow Press.\n\nQuist, A. (2015). Who reads the record? Harbour Press.\n"
)

// TestWorksThatBothCite: works cited in both documents are reported in the same way for a source in a library and for a member of a
// batch, and are not part of a share. The rows that a deletion uses to find its sources name them.
func TestWorksThatBothCite(t *testing.T) {
	p := sitetest.NewSite(t, "theses")
	shared := sitetest.Prose(1, 8)
	p.Add(t, "theses", site.Incoming{ID: "source.txt", Title: "On gauges", Text: shared + sitetest.Prose(2, 8) + worksTwo})
	f, err := p.Check(t.Context(), site.Submission{ID: "mine.txt", Text: shared + sitetest.Prose(3, 8) + worksOne}, site.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.SharedWorks) != 1 || f.SharedWorks[0].Works != 2 || f.SharedWorks[0].Of != 3 || f.SharedWorks[0].Source.Document != "source.txt" {
		t.Fatalf("shared works %+v", f.SharedWorks)
	}
	r := report.Build(f, report.Rules{})
	for _, s := range r.Covered {
		if s.End > strings.Index(f.Submission.Text, "References") {
			t.Errorf("the list counts at %v", s.Span)
		}
	}
	if said := strings.Join(r.Statement(), " "); !strings.Contains(said, "2 of the 3 works cited here are also cited by") {
		t.Errorf("statement %q", said)
	}
	rows := storetest.Results(t, p.Store, f.Task)
	if !slices.ContainsFunc(rows, func(r store.Result) bool { return r.Kind == concordat.KindWorks }) {
		t.Errorf("rows %+v", rows)
	}
	if len(f.Dates) != 1 {
		t.Errorf("dates %+v, want that of the passage's source", f.Dates)
	}
	// Without a passage there is no order by date.
	f, err = p.Check(t.Context(), site.Submission{ID: "other.txt", Text: sitetest.Prose(6, 8) + worksOne}, site.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.SharedWorks) != 1 || len(f.Passages) != 0 || len(f.Dates) != 0 {
		t.Errorf("shared works %+v, %d passages, dates %+v", f.SharedWorks, len(f.Passages), f.Dates)
	}

	b := sitetest.NewBatch(t, sitetest.NewSite(t), map[string]string{"a.txt": shared + sitetest.Prose(4, 8) + worksOne,
		"b.txt": shared + sitetest.Prose(5, 8) + worksTwo},
		[]string{"a.txt", "b.txt"}, batch.Job{NoLibraries: true})
	for _, m := range b.Run(t).Members {
		f, err := b.Findings(t.Context(), m.Task)
		if err != nil || len(f.SharedWorks) != 1 || f.SharedWorks[0].Works != 2 || f.SharedWorks[0].Of != 3 {
			t.Errorf("%s: shared works %+v, %v", m.Name, f.SharedWorks, err)
		}
	}
}
