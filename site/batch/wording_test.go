package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat/internal/sitetest"

	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
)

// TestBatchWording: a batch reports wording that at least three of its documents contain, whether a form that all fill in or a block that
// few share. If an officer counts such wording, the reports of those documents include it.
func TestBatchWording(t *testing.T) {
	const question = "Describe the aims of your project in no more than two hundred words of plain language for the panel of readers."
	block := sitetest.Prose(77, 6)
	texts := map[string]string{}
	var names []string
	for i := range 20 {
		name := fmt.Sprintf("doc-%02d.txt", i)
		names = append(names, name)
		texts[name] = question + "\n\n" + sitetest.Prose(uint64(100+i), 16)
		if i >= 17 {
			texts[name] += "\n\n" + block
		}
	}
	b := sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, batch.Job{NoLibraries: true})
	v := b.Run(t)
	lines, err := batch.WordingLines(t.Context(), b.Site, v)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 {
		t.Fatalf("wording %+v", lines)
	}
	ring, form := lines[0], lines[1]
	if ring.Held != 3 || ring.Of != 20 || !ring.Counted || !strings.HasPrefix(block, ring.Text[:40]) || ring.Documents[0] != "doc-17.txt" {
		t.Errorf("what three hold: %+v", ring)
	}
	if form.Held != 20 || form.Counted || form.Decide || form.Kind != "common" || !strings.HasPrefix(form.Text, "Describe") {
		t.Errorf("what all hold: %+v", form)
	}

	covered := func() (out []float64) {
		t.Helper()
		for _, m := range b.View(t).Members {
			out = append(out, m.Share)
		}
		return out
	}
	before := covered()
	if before[0] != 0 || before[19] == 0 {
		t.Fatalf("shares at first %v", before)
	}
	if err := batch.CountWording(t.Context(), b.Site, b.Store, b.BatchID, "olga", form.Number, true, "nobody handed that form out",
		report.Rules{}); err != nil {
		t.Fatal(err)
	}
	after := covered()
	for i := range after {
		if after[i] < before[i] {
			t.Errorf("document %d: %v, was %v", i, after[i], before[i])
		}
	}
	if after[1] == 0 {
		t.Errorf("counted, and no share: %v", after)
	}
	rules, err := site.RulesInForce(t.Context(), b.Store, v.Members[1].Task, report.Rules{})
	if err != nil || len(rules.CountWording) != 1 || rules.CountWording[0].By != "olga" ||
		rules.CountWording[0].Comment != "nobody handed that form out" {
		t.Errorf("rules %+v, %v", rules, err)
	}
	if err := batch.CountWording(t.Context(), b.Site, b.Store, b.BatchID, "olga", form.Number, false, "", report.Rules{}); err != nil {
		t.Fatal(err)
	}
	if again := covered(); fmt.Sprint(again) != fmt.Sprint(before) {
		t.Errorf("no longer counted: %v, want %v", again, before)
	}
	if err := batch.CountWording(t.Context(), b.Site, b.Store, b.BatchID, "olga", 99, true, "x", report.Rules{}); err == nil {
		t.Error("wording that is not there is counted")
	}
}
