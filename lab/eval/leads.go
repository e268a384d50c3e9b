package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"concordat"
	"concordat/meaning"
	"concordat/report"
	"concordat/site"
)

// ObservedDocument is a checked document of known origin with its conspicuous places, whether or not they are worth reading.
type ObservedDocument struct {
	Texts    string            `json:"texts"` // which measurement: reworded, beside, answers, innocent or academic
	Document string            `json:"document"`
	Encoder  string            `json:"encoder,omitempty"`  // model that verified the leads; empty if only the table did
	Passages []ObservedPassage `json:"passages,omitempty"` // passages known to be reworded
	Leads    []ObservedLead    `json:"leads,omitempty"`
}

// ObservedPassage is a passage known to be reworded.
type ObservedPassage struct {
	Book string `json:"book"` // work that contains its source
	Kind string `json:"kind"` // number of the folder
}

// ObservedLead is a conspicuous place.
type ObservedLead struct {
	Book      string  `json:"book"` // work that contains its source
	Across    bool    `json:"across,omitempty"`
	Sentences int     `json:"sentences"`
	Score     float64 `json:"score"`
	// Passage is the number, from 1, of the passage that the lead connects with its origin; 0 if none.
	Passage int `json:"passage,omitempty"`
}

// observing describes a document being checked for leads.
type observing struct {
	texts     string
	templates []report.Template
	passages  []marked
	books     map[string]string // by source; nil means the first folder in its name
	scenario  *innocentScenario // its copies are not mistakes
}

// leadsOf checks a document against a library's other documents, with leads, and records every conspicuous place.
func (r *run) leadsOf(b *Bench, d Doc, of observing) (*report.Report, error) {
	id := concordat.DocumentID(d.ID)
	o := site.CheckOptions{Leads: true, Templates: of.templates,
		Exclude: []concordat.Ref{{Site: "bench", Library: "library", Document: id}}}
	noted := ObservedDocument{Texts: of.texts, Document: d.ID}
	if r.o.Encoder != nil {
		noted.Encoder = r.o.Encoder.Name()
	}
	for _, p := range of.passages {
		noted.Passages = append(noted.Passages, ObservedPassage{of.books[p.source], p.kind})
	}
	o.EachLead = func(source concordat.Ref, l meaning.Lead) {
		if of.scenario != nil && of.scenario.copied(d.ID, string(source.Document)) {
			return
		}
		book := of.books[string(source.Document)]
		if of.books == nil {
			book = collection(string(source.Document))
		}
		x := ObservedLead{Book: book, Across: l.Across, Sentences: l.Sentences, Score: l.Score}
		for i, p := range of.passages {
			if p.source == string(source.Document) && l.Span.Overlaps(p.span) && l.Source.Overlaps(p.sourceSpan) {
				x.Passage = i + 1
			}
		}
		noted.Leads = append(noted.Leads, x)
	}
	f, err := b.Site.Check(r.ctx, site.Submission{ID: id, Text: d.Text}, o)
	if err != nil {
		return nil, err
	}
	if r.observed != nil {
		if err := r.observed(noted); err != nil {
			return nil, err
		}
	}
	return report.Build(f, report.Rules{}), nil
}

// leadsTable holds leads that should not exist, for a person to read.
type leadsTable struct{ Table }

func leadsToRead(in string) *leadsTable {
	return &leadsTable{Table{Title: "leads in " + in + ", to be read",
		Columns: []string{"document", "source", "likelihood", "text", "text of the source"}}}
}

func (t *leadsTable) add(d Doc, l report.RuledLead) {
	line := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	t.Rows = append(t.Rows, []any{d.ID, string(l.Source.Document), l.Likelihood, line(l.Span.In(d.Text)), line(l.Text)})
}

// toRead adds a table if it has any rows.
func (r *run) toRead(t *leadsTable) {
	if len(t.Rows) > 0 {
		r.tables = append(r.tables, t.Table)
	}
}

// ReadObserved reads observations, one JSON object per line.
func ReadObserved(in io.Reader) ([]ObservedDocument, error) {
	var out []ObservedDocument
	d := json.NewDecoder(bufio.NewReader(in))
	for {
		var o ObservedDocument
		switch err := d.Decode(&o); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("observation %d: %w", len(out)+1, err)
		}
		out = append(out, o)
	}
}

// collection returns the first folder in a name.
func collection(name string) string {
	dir, _, _ := strings.Cut(name, "/")
	return dir
}

// academicLeads checks scientific papers against all other texts of their collection, which are by other authors
// on the same subjects.
func (r *run) academicLeads() error {
	library, err := r.corpora.docs("academic/academic.tar.zst", func(name string) bool { return strings.HasSuffix(name, ".txt") })
	if err != nil {
		return err
	}
	var papers []Doc
	for _, d := range library {
		named := len(r.o.Scenarios) == 0 ||
			slices.ContainsFunc(r.o.Scenarios, func(begins string) bool { return strings.HasPrefix(d.ID, begins) })
		if collection(d.ID) == "SemEval2010" && named {
			papers = append(papers, d)
		}
	}
	papers = every(papers, r.pick(1, 40))
	if r.short {
		library = papers
	}
	b, err := r.leadsBench(library)
	if err != nil {
		return err
	}
	t := leadsToRead("papers")
	with := 0
	for _, d := range papers {
		rep, err := r.leadsOf(b, d, observing{texts: "academic"})
		if err != nil {
			return err
		}
		with += one(len(rep.Leads) > 0)
		for _, l := range rep.Leads {
			t.add(d, l)
		}
	}
	r.toRead(t)
	r.count("papers among others", "with a lead", with, len(papers)).most(float64(len(papers))/3, none)
	return nil
}
