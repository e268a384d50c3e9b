package eval

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
)

// leadsInBatches measures leads between documents submitted together. Only the table compares them.
func (r *run) leadsInBatches() error {
	if err := r.innocentBatchLeads(); err != nil {
		return err
	}
	return r.rewordedBatchLeads()
}

// itemsOf returns documents in the form of submissions.
func itemsOf(docs []Doc) []site.Item {
	out := make([]site.Item, len(docs))
	for i, d := range docs {
		out[i].Submission = site.Submission{ID: concordat.DocumentID(d.ID), Title: d.ID, Text: d.Text}
	}
	return out
}

// textsIn returns a function that returns a document's text by name.
func textsIn(docs []Doc) func(name string) string {
	return func(name string) string { return docs[slices.IndexFunc(docs, isNamed(name))].Text }
}

func isNamed(name string) func(Doc) bool { return func(d Doc) bool { return d.ID == name } }

// batchWithLeads is a batch that looked for leads, and the leads that it shows.
type batchWithLeads struct {
	*Bench
	view  *batch.View
	leads *batch.ViewedLeads
}

// leadsOfBatch compares documents with each other, and looks for leads if requested.
func (r *run) leadsOfBatch(docs []site.Item, want bool, templates []report.Template) (*batchWithLeads, error) {
	b, err := r.leadsBench(nil)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.dir, fmt.Sprintf("batch-%d", len(r.benches)))
	v, err := b.compareAll(r.ctx, dir, docs, batch.Job{Leads: want, Rules: &report.Rules{}}, site.CheckOptions{Templates: templates})
	if err != nil {
		return nil, err
	}
	leads, err := v.Leads(r.ctx, b.Store, report.Rules{})
	return &batchWithLeads{b, v, leads}, err
}

// names returns the documents that a lead connects.
func (b *batchWithLeads) names(l *batch.ViewedLead) (from, to string) {
	return b.view.Members[l.A].Name, b.view.Members[l.B].Name
}

// read adds a lead to a table for a person to read.
func (b *batchWithLeads) read(t *leadsTable, folder string, l *batch.ViewedLead, textOf func(name string) string) {
	from, to := b.names(l)
	t.add(Doc{folder + from, textOf(from)}, report.RuledLead{Lead: report.Lead{Span: l.Span, Likelihood: l.Likelihood,
		Source: concordat.Ref{Document: concordat.DocumentID(to)}, Text: l.Source.In(textOf(to))}})
}

// innocentBatchLeads counts leads between a scenario's innocent documents submitted as one batch. It does not count leads between a copy
// and its original.
func (r *run) innocentBatchLeads() error {
	want := r.o.Scenarios
	if r.short {
		want = innocentShort.scenarios
	}
	scenarios, err := r.corpora.innocent(want)
	if err != nil {
		return err
	}
	t := Table{Title: "leads in batches of innocent documents, by scenario", Columns: []string{"scenario", "template", "documents",
		"with a lead", "leads", "rewording", "summary", "translation", "of shared wording", "many say this"}}
	read := leadsToRead("batches of innocent documents")
	documents, with, wording := 0, 0, 0
	for _, s := range scenarios {
		var items []site.Item
		for _, d := range s.docs {
			items = append(items, d.item)
		}
		for _, given := range s.templates() {
			b, err := r.leadsOfBatch(items, true, given)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			kinds, have, leads, shared := map[report.LeadKind]int{}, map[string]bool{}, 0, 0
			for i := range b.leads.Leads {
				l := &b.leads.Leads[i]
				from, to := b.names(l)
				if s.copied(from, to) {
					continue
				}
				have[from], have[to] = true, true
				leads++
				kinds[l.Kind]++
				shared += one(s.of(from).isWording(l.Span) || s.of(to).isWording(l.Source))
				b.read(read, s.name+"/", l, func(name string) string { return s.of(name).text })
			}
			documents, with, wording = documents+len(s.docs), with+len(have), wording+shared
			t.Rows = append(t.Rows, []any{s.name, given != nil, len(s.docs), len(have), leads, kinds[report.LeadRewording],
				kinds[report.LeadSummary], kinds[report.LeadTranslation], shared, len(b.leads.Many)})
		}
	}
	r.tables = append(r.tables, t)
	r.toRead(read)
	const of = "innocent documents in batches"
	most := float64(documents) / 20
	r.count(of, "with a lead", with, documents).most(most, most)
	r.figure(of, "leads of shared wording", float64(wording)).most(0, 0)
	return nil
}

// isWording reports whether at least half of a stretch, in letters and digits, is a form, a quotation or similar.
func (d *innocentDoc) isWording(s concordat.Span) bool {
	of, legit := 0, d.within(d.legit)
	for i, at := range d.letters {
		if s.Start <= at && at < s.End {
			of += 2*one(legit[i]) - 1
		}
	}
	return of >= 0
}

// rewordedBatchLeads measures which reworded passages are found when sources and documents made from them form one batch.
func (r *run) rewordedBatchLeads() error {
	texts, cases, _, err := r.corpora.markedPassages()
	if err != nil {
		return err
	}
	sources, asking := reworded(texts)
	asking = asking[:r.pick(len(asking), min(10, len(asking)))]
	cases = slices.DeleteFunc(cases, func(c marked) bool { return !slices.ContainsFunc(asking, isNamed(c.susp)) })
	docs := asking
	for _, d := range sources {
		if !r.short || slices.ContainsFunc(cases, func(c marked) bool { return c.source == d.ID }) {
			docs = append(docs, d)
		}
	}
	b, err := r.leadsOfBatch(itemsOf(docs), true, nil)
	if err != nil {
		return err
	}
	found := map[*marked][2]bool{}
	for _, m := range b.view.Members {
		f, err := b.Site.Findings(r.ctx, m.Task)
		if err != nil {
			return err
		}
		rep := report.Build(f, report.Rules{})
		for i := range cases {
			if c := &cases[i]; c.susp == m.Name {
				evidence, either := c.found(rep)
				found[c] = [2]bool{evidence, either}
			}
		}
	}
	read, outside, many := leadsToRead("a batch, outside of the marked passages"), 0, 0
	for i := range b.leads.Leads {
		l := &b.leads.Leads[i]
		if from, to := b.names(l); !joinedByPassages(cases, from, to, l.Span, l.Source) {
			outside++
			b.read(read, "", l, textsIn(docs))
		}
	}
	for i := range cases {
		many += one(slices.ContainsFunc(b.leads.Many, func(m batch.ManySay) bool { return b.saysMany(m, &cases[i]) }))
	}
	r.toRead(read)
	const of = "passages in other words, in one batch with their sources"
	for _, g := range rewordedGroups {
		n, evidence, either := countKinds(found, g.kinds)
		r.count(of, g.name+", evidence alone", evidence, n)
		r.count(of, g.name+", evidence or lead", either, n)
	}
	r.count(of, "passages that many documents say", many, len(cases))
	r.count(of, "leads outside the marked passages", outside, len(b.leads.Leads)).most(20, 3)
	return nil
}

// saysMany reports whether a group of similar statements in many documents connects a passage with its origin.
func (b *batchWithLeads) saysMany(m batch.ManySay, c *marked) bool {
	has := func(name string, span concordat.Span) bool {
		return slices.ContainsFunc(m.Places, func(p batch.ViewedPlace) bool {
			return b.view.Members[p.Member].Name == name && p.Span.Overlaps(span)
		})
	}
	return has(c.susp, c.span) && has(c.source, c.sourceSpan)
}

// joinedByPassages reports whether a lead between two documents connects a passage with its origin, or two passages of the same
// origin.
func joinedByPassages(cases []marked, a, b string, inA, inB concordat.Span) bool {
	// origins returns the places that something was made from. These are the place itself in a source, and the origins of its passages in
	// a document.
	origins := func(name string, span concordat.Span) []marked {
		out := []marked{{source: name, sourceSpan: span}}
		for _, c := range cases {
			if c.susp == name && c.span.Overlaps(span) {
				out = append(out, c)
			}
		}
		return out
	}
	for _, x := range origins(a, inA) {
		for _, y := range origins(b, inB) {
			if x.source == y.source && x.sourceSpan.Overlaps(y.sourceSpan) {
				return true
			}
		}
	}
	return false
}

// These are the lengths of documents in timed batches, and the number of documents per batch.
const (
	costWords     = 3000
	costDocuments = 400
)

// batchLeadsCost times a batch of documents, each made from different film reviews, with and without leads.
func (r *run) batchLeadsCost() error {
	reviews, err := r.corpora.reviews(r.pick(8000, 400))
	if err != nil {
		return err
	}
	docs := joinedDocs(reviews, costWords)
	docs = docs[:min(len(docs), r.pick(costDocuments, 8))]
	of := fmt.Sprintf("a batch of %d documents of %d words", len(docs), costWords)
	read := leadsToRead("a batch of film reviews")
	for _, leads := range []bool{false, true} {
		begun, spent := time.Now(), processTime()
		b, err := r.leadsOfBatch(itemsOf(docs), leads, nil)
		if err != nil {
			return err
		}
		how := map[bool]string{false: "without leads", true: "with leads"}[leads]
		r.figure(of, "processor time "+how+", s", (processTime() - spent).Seconds())
		r.figure(of, "wall time "+how+", s", time.Since(begun).Seconds())
		for i := range b.leads.Leads {
			b.read(read, "", &b.leads.Leads[i], textsIn(docs))
		}
		if leads {
			r.count(of, "leads, in documents", len(b.leads.Leads), len(docs))
		}
	}
	r.toRead(read)
	return nil
}

// joinedDocs joins documents until each has the given number of words.
func joinedDocs(docs []Doc, words int) []Doc {
	var out []Doc
	var text strings.Builder
	n := 0
	for _, d := range docs {
		text.WriteString(d.Text + "\n\n")
		if n += len(strings.Fields(d.Text)); n >= words {
			out = append(out, Doc{fmt.Sprintf("joined-%03d", len(out)+1), text.String()})
			text.Reset()
			n = 0
		}
	}
	return out
}
