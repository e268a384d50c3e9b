package batch_test

import (
	"context"
	"fmt"
	"testing"

	"concordat/internal/sitetest"

	"concordat/report"
	"concordat/segment"
	"concordat/site"
	"concordat/site/batch"
)

// applications returns n applications under the same headings; the last copies the whole work plan of the first.
func applications(n int) map[string]string {
	out := map[string]string{}
	first := ""
	for i := range n {
		plan := sitetest.Prose(uint64(100+i), 7)
		if i == 0 {
			first = plan
		}
		if i == n-1 {
			plan = first
		}
		out[fmt.Sprintf("%02d.txt", i)] = "Summary\n\n" + sitetest.Prose(uint64(200+i), 24) + "\n\n2. Work plan\n\n" + plan + "\n\nCosts\n\n" +
			sitetest.Prose(uint64(300+i), 24)
	}
	return out
}

// TestBatchSections: a pair is listed if one section reaches the threshold, even if neither document does. Sections come from a template,
// a given form, or the headings that the documents share. Without sections the pair is not listed, and innocent pairs never are.
func TestBatchSections(t *testing.T) {
	t.Parallel()
	named, err := segment.ParseTemplate("call", "Work plan = ^2\\. Work plan$\nCosts = ^Costs$")
	if err != nil {
		t.Fatal(err)
	}
	const form = "Summary\nIn plain words.\n1. Work plan\nCosts\n"
	for _, x := range []struct {
		name string
		n    int
		o    site.CheckOptions
		want string
	}{
		{"template", 3, site.CheckOptions{Template: named}, "[00.txt 02.txt Work plan]"},
		{"template of two", 2, site.CheckOptions{Template: named}, "[00.txt 01.txt Work plan]"},
		{"form", 2, site.CheckOptions{Templates: []report.Template{{Name: "form", Text: form}}}, "[00.txt 01.txt Work plan]"},
		{"common headings", 6, site.CheckOptions{}, "[00.txt 05.txt Work plan]"},
		{"two without a template", 2, site.CheckOptions{}, ""},
	} {
		texts := applications(x.n)
		var names []string
		for i := range x.n {
			names = append(names, fmt.Sprintf("%02d.txt", i))
		}
		b := sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, batch.Job{NoLibraries: true})
		b.BatchOptions.Options = func(context.Context, batch.Job) (site.CheckOptions, func(), error) { return x.o, nil, nil }
		v := b.Run(t)
		got := ""
		for _, s := range v.SectionLines() {
			got += fmt.Sprintf("[%s %s %s]", s.A, s.B, s.Section)
			if s.Share < 0.9 || s.ShareA < 0.9 || s.ShareB < 0.9 || !s.Counted {
				t.Errorf("%s: %+v", x.name, s)
			}
		}
		if got != x.want {
			t.Errorf("%s: sections %s, want %s", x.name, got, x.want)
		}
		if listed := len(v.Pairs); listed > 0 != (x.want != "") || listed > 0 && v.Pairs[0].Share() > 0.25 {
			t.Errorf("%s: pairs %v", x.name, v.PairLines())
		}
	}
}

// TestBatchSectionsOfAll: a section shared by most of the documents does not by itself list any of them.
func TestBatchSectionsOfAll(t *testing.T) {
	t.Parallel()
	texts := applications(5)
	named, err := segment.ParseTemplate("call", "Work plan = ^2\\. Work plan$\nCosts = ^Costs$")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 5 {
		name := fmt.Sprintf("%02d.txt", i)
		names = append(names, name)
		texts[name] = "2. Work plan\n\n" + sitetest.Prose(1, 7) + "\n\nCosts\n\n" + sitetest.Prose(uint64(300+i), 40)
	}
	b := sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, batch.Job{NoLibraries: true})
	b.BatchOptions.Options = func(context.Context, batch.Job) (site.CheckOptions, func(), error) {
		return site.CheckOptions{Template: named}, nil, nil
	}
	if v := b.Run(t); len(v.SectionLines()) > 0 {
		t.Errorf("sections %+v", v.SectionLines())
	}
}
