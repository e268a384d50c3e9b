package site

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/segment"
	"concordat/site/compare"
	"concordat/store"
)

// Submission is a document to check. It is not part of any library.
type Submission struct {
	ID    concordat.DocumentID
	Title string
	Text  string
	Flags []concordat.Flag // flags raised by extraction
	// Dated is its date, or empty if unknown; DatedBy is the origin of the date.
	Dated   concordat.Date
	DatedBy concordat.DateOrigin
	Timed   concordat.Instant   // more exact than Dated, if known; only batches read it
	Authors []concordat.Creator // empty if unknown
	// Sections are the sections made from its files if it has several, in text order; a section template takes precedence.
	Sections []concordat.Section
}

// CheckOptions specify how a submission is compared. The zero value queries all libraries, with probes.
type CheckOptions struct {
	Libraries []concordat.LibraryID // empty for all that have not expired
	Exclude   []concordat.Ref       // documents never to be reported, for example earlier versions of the submission
	Exact     bool                  // look up only exact bands, which is faster but finds less
	Channel   compare.Channel       // how candidates are nominated; zero means by fingerprints and words
	Template  *segment.Template     // sections of the submission; nil if there are none
	Headings  *segment.Template     // sections if neither Template nor the files yield any; nil means those from the headings of Templates
	// Templates are wordings handed out, in addition to the libraries' templates; they do not count.
	Templates []report.Template
	// Short also compares titles, headings and other texts too short for fingerprints. ShortThreshold is the minimum similarity, greater
	// than 0 and at most 1; the default is 0.5.
	Short          bool
	ShortThreshold float64
	// NoStore means that neither the submission's text nor vectors of its sentences are stored.
	NoStore bool
	// Leads requests passages that restate a document of this site in other words.
	Leads bool
	// EachLead, if not nil, is called with each place that stands out, whether or not it is worth reading; it is meant for measurements.
	EachLead compare.EachLead
	// PartnerLeads also asks partners, using meaning codes of sentences that matched nothing.
	PartnerLeads bool
	// Candidates is the maximum number of source documents with which the text is compared, best first; the default is 200. The findings
	// state how many documents were left out.
	Candidates int
	// Threshold is the covered share at which a report deserves close reading, 0 to 1; the default is 0.3.
	Threshold float64
	// Forward determines which sentences Partners are asked about: ForwardUnmatched (the default), ForwardAll or ForwardNone.
	Forward string
	// Partners lists the other sites to ask, with the libraries of each.
	Partners []PartnerLibraries
	// Mirrors lists the mirrored libraries of partners to compare with. Comparing with a mirror contacts no partner.
	Mirrors []MirroredLibrary
	// Standing keeps the check watching until it is ended. Later documents that match raise an alert, here and at partners that accept
	// standing asks.
	Standing bool
	// Progress, if not nil, receives the progress of the check. It can be called concurrently.
	Progress func(Progress)
}

// Progress is a progress report of a check.
type Progress struct {
	Stage string `json:"stage"` // fingerprint, match, search, verify, align or partner
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// Partner, State and Reason are set in stage partner, and describe the progress of one partner. Done is the number of partners that
	// have finished, out of Total.
	Partner concordat.SiteID `json:"partner,omitempty"`
	State   PartnerState     `json:"state,omitempty"`
	Reason  concordat.Reason `json:"reason,omitempty"` // why its answer is incomplete
}

const (
	DefaultThreshold = 0.3
	// Lease is how long a task belongs to this process without a sign of life; a check does not renew it, since the caller limits how
	// long a check takes.
	Lease = 24 * time.Hour
)

// Check compares a submission with the libraries and stores the findings under a new task. If a partner or shard does not answer, the
// findings are still returned and say so. After an error, the task is stored as failed, with the cause.
func (s *Site) Check(ctx context.Context, sub Submission, o CheckOptions) (*report.Findings, error) {
	if err := CheckName(string(sub.ID)); err != nil {
		return nil, fmt.Errorf("submission: %w", err)
	}
	if err := CheckText(sub.Text); err != nil {
		return nil, fmt.Errorf("submission %s: %w", sub.ID, err)
	}
	if o.Candidates < 0 {
		return nil, fmt.Errorf("submission %s: %d candidates: %w", sub.ID, o.Candidates, concordat.ErrInvalid)
	}
	if !(o.ShortThreshold >= 0 && o.ShortThreshold <= 1) {
		return nil, fmt.Errorf("submission %s: minimum similarity of short texts %v: %w: want a number above 0 and at most 1", sub.ID, o.ShortThreshold,
			concordat.ErrInvalid)
	}
	if err := sub.Dated.Validate(); err != nil {
		return nil, fmt.Errorf("submission %s: %w", sub.ID, err)
	}
	if err := errors.Join(o.Channel.Check(), o.ValidatePartners()); err != nil {
		return nil, err
	}
	libraries, err := s.Libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	made := s.o.Now()
	task, err := s.o.Store.Checks.StartTask(ctx, store.Task{Task: concordat.Task{
		ID: concordat.TaskID(strings.ToLower(rand.Text())), Title: cmp.Or(sub.Title, string(sub.ID)), Made: made,
	}}, "check", Lease)
	if err != nil {
		return nil, fmt.Errorf("start task: %w", err)
	}
	f, err := s.find(ctx, task.ID, sub, o, libraries)
	if err == nil {
		f.Task, f.Made = task.ID, made
		err = s.Keep(ctx, task, f)
	}
	if err != nil {
		// The cause is stored even if ctx ended the check.
		return nil, errors.Join(err, s.o.Store.Checks.FinishTask(context.WithoutCancel(ctx), task, concordat.TaskFailed, CauseOf(err)))
	}
	return s.redactHidden(ctx, f)
}

// Libraries returns the libraries with the given IDs, or concordat.ErrNotFound if any does not exist. Without IDs, it returns all that
// have not expired.
func (s *Site) Libraries(ctx context.Context, ids []concordat.LibraryID) ([]store.Library, error) {
	if len(ids) == 0 {
		all, err := s.o.Store.Catalogue.Libraries(ctx)
		now := s.o.Now()
		return slices.DeleteFunc(all, func(l store.Library) bool {
			return !l.Policy.Expires.IsZero() && !now.Before(l.Policy.Expires)
		}), err
	}
	var out []store.Library
	for _, id := range ids {
		l, err := s.o.Store.Catalogue.Library(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", id, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// find performs a check. If it fails, the task has no result.
func (s *Site) find(ctx context.Context, task concordat.TaskID, sub Submission, o CheckOptions,
	libraries []store.Library) (*report.Findings, error) {
	if err := o.ValidatePartners(); err != nil {
		return nil, err
	}
	f, err := s.CompareAll(ctx, task, sub, o, libraries, nil)
	if err != nil && o.Standing {
		if end := s.o.Store.Alerts.EndStanding(context.WithoutCancel(ctx), task); !errors.Is(end, concordat.ErrNotFound) {
			err = errors.Join(err, end)
		}
	}
	return f, err
}

// CompareAll compares a submission with the documents of this site, of mirrors and of partners. known is the wording of the submission
// already known to be shared.
func (s *Site) CompareAll(ctx context.Context, task concordat.TaskID, sub Submission, o CheckOptions, libraries []store.Library,
	known []report.Wording) (*report.Findings, error) {
	progress := o.Progress
	if progress == nil {
		progress = func(Progress) {}
	}
	progress(Progress{Stage: "fingerprint", Done: 0, Total: 1})
	p, err := s.o.Profiler.Profile(concordat.Document{ID: sub.ID, Title: sub.Title, Text: sub.Text, Added: s.o.Now()}, o.Template)
	if err != nil {
		return nil, err
	}
	progress(Progress{Stage: "fingerprint", Done: 1, Total: 1})
	if o.Standing { // start before the comparison, so that documents added in the meantime are not missed
		if err := s.o.Store.Alerts.PutStanding(ctx, store.Standing{Task: task, Scheme: p.Scheme, Made: s.o.Now(),
			Sentences: p.Questions()}); err != nil {
			return nil, err
		}
	}
	own := s.comparer()
	if !o.NoStore {
		own.Task = task
	}
	stage := func(stage string, done, total int) { progress(Progress{Stage: stage, Done: done, Total: total}) }
	how := o.find()
	excluded := excludedOf(o.Exclude, libraries)
	how.Inside = excluded > 0 // they include the text itself, or an earlier version of it
	q := own.Query(p, how, idsOf(libraries))
	of := max(0, documentsOf(libraries)-excluded) + 1
	began := time.Now()
	found, err := own.Find(ctx, p, q, how, stage)
	if err != nil {
		return nil, err
	}
	f := &report.Findings{
		Version: report.Version, Submission: p.Document, Scheme: p.Scheme, Sections: p.Sections, Skipped: p.Skipped,
		Checked: checked(p), Characters: p.Characters, Flags: sub.Flags, Made: s.o.Now(),
		Threshold: cmp.Or(o.Threshold, DefaultThreshold), Probe: q.Probe.String(),
		Dated: sub.Dated, DatedBy: sub.DatedBy, Authors: sub.Authors,
	}
	if len(f.Sections) == 0 {
		f.Sections = sub.Sections
	}
	for _, l := range libraries {
		c := concordat.Consulted{Site: s.o.ID, Library: l.ID, Asked: len(q.Fingerprints), Answered: len(q.Fingerprints),
			Empty: l.Documents == 0, Missing: found.Missing, Capped: found.Capped, Took: time.Since(began)}
		if len(found.Missing) > 0 {
			c.Answered = 0
		}
		f.Consulted = append(f.Consulted, c)
	}
	if found.Left > 0 {
		f.Flags = append(f.Flags, concordat.Flag{Code: "candidates_left_out", Count: found.Left,
			Detail: fmt.Sprintf("%d more documents share some wording with the submission; only the %d closest were compared", found.Left,
				len(found.Candidates))})
	}
	var counting []report.Template
	if f.Templates, counting, err = s.templates(ctx, q.Libraries, o.Templates); err != nil {
		return nil, err
	}
	if len(f.Sections) == 0 {
		f.Sections = headed(f, o.Headings)
	}
	shared := compare.Shareable(sub.Text, compare.TemplateTexts(f.Templates), s.o.Stock)
	shared.Counting(counting)
	leaveReferences(f, shared.References)
	shared.Add(known)
	if f.Passages, err = own.Align(ctx, shared, q, p.Questions(), found.Candidates, of, stage); err != nil {
		return nil, err
	}
	taken := slices.Clone(shared.Walls)
	for _, x := range f.Passages {
		taken = append(taken, x.Span)
	}
	if o.Leads {
		own.EachLead = o.EachLead
		leads, err := own.Leads(ctx, sub.Text, q, taken, found.Candidates)
		if err != nil {
			return nil, fmt.Errorf("leads: %w", err)
		}
		f.Leads, f.Flags = leads.Leads, append(f.Flags, leads.Flags...)
		leads.Search.Documents = of - 1
		f.LeadSearch = &leads.Search
	}
	f.Wording, f.WordingOf, f.SharedWorks, f.Counting = shared.Found, of, shared.Cited, shared.Counted
	if err := s.complete(ctx, f, p, q, o); err != nil {
		return nil, err
	}
	f.Forward = o.Forwarded()
	if len(o.Partners) == 0 && len(o.Mirrors) == 0 {
		return f, nil
	}
	if s.asker == nil {
		return nil, fmt.Errorf("this site cannot ask partners: %w", concordat.ErrInvalid)
	}
	return f, s.asker.Ask(ctx, &Asking{Task: task, Submission: sub, Options: &o, Findings: f, Candidates: found.Candidates, Shared: shared,
		Progress: progress})
}

// templates returns the given templates together with those handed out by the libraries, and the wording that counts by decision of the
// libraries.
func (s *Site) templates(ctx context.Context, libraries []concordat.LibraryID, given []report.Template) (
	out, counting []report.Template, err error) {
	out = slices.Clone(given)
	for _, id := range libraries {
		ts, err := s.o.Store.Catalogue.Templates(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range ts {
			one := report.Template{Site: s.o.ID, Library: id, Name: t.Name, Text: t.Text}
			if t.Counts {
				counting = append(counting, one)
			} else {
				out = append(out, one)
			}
		}
	}
	return out, counting, nil
}

// find converts the options for the comparer.
func (o *CheckOptions) find() compare.Options {
	return compare.Options{Exclude: o.Exclude, Exact: o.Exact, Channel: o.Channel, Candidates: o.Candidates}
}

// comparer returns a comparer for the site's own index.
func (s *Site) comparer() *compare.Comparer {
	out := &compare.Comparer{Index: s.o.Index, Profiler: s.o.Profiler, Workers: s.o.Workers, Known: s.catalogued}
	if s.o.Encoder != nil {
		out.Encoder = s.o.Encoder()
	}
	return out
}

func idsOf(libraries []store.Library) []concordat.LibraryID {
	out := make([]concordat.LibraryID, len(libraries))
	for i, l := range libraries {
		out[i] = l.ID
	}
	return out
}

// documentsOf returns the total number of documents in the libraries.
func documentsOf(libraries []store.Library) int {
	n := 0
	for _, l := range libraries {
		n += l.Documents
	}
	return n
}

// excludedOf returns the number of excluded documents that are in the libraries.
func excludedOf(refs []concordat.Ref, libraries []store.Library) int {
	n := 0
	for _, r := range refs {
		if r.Document != "" && slices.ContainsFunc(libraries, func(l store.Library) bool { return l.ID == r.Library }) {
			n++
		}
	}
	return n
}

// complete adds findings that do not come from text comparison: short texts, and facts about the sources.
func (s *Site) complete(ctx context.Context, f *report.Findings, p *concordat.Profile, q *concordat.Query, o CheckOptions) error {
	if o.Short {
		var err error
		if f.Short, err = s.findShort(ctx, p, q, o.ShortThreshold); err != nil {
			return err
		}
	}
	return s.describeSources(ctx, f)
}

// checked returns the fingerprinted spans, joined.
func checked(p *concordat.Profile) []concordat.Span {
	out := []concordat.Span{}
	for _, sentence := range p.Questions() {
		if n := len(out); n > 0 && sentence.Span.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, sentence.Span.End)
			continue
		}
		out = append(out, sentence.Span)
	}
	return out
}

// leaveReferences records lists of references as skipped, since they are compared by work rather than word by word.
func leaveReferences(f *report.Findings, lists []concordat.Span) {
	if len(lists) == 0 {
		return
	}
	var checked []concordat.Span
	for _, s := range f.Checked {
		checked = append(checked, report.Without(s, lists)...)
	}
	var skipped []concordat.Skipped
	for _, s := range f.Skipped {
		for _, rest := range report.Without(s.Span, lists) {
			skipped = append(skipped, concordat.Skipped{Span: rest, Reason: s.Reason})
		}
	}
	for _, s := range lists {
		skipped = append(skipped, concordat.Skipped{Span: s, Reason: concordat.SkipReferences})
	}
	slices.SortFunc(skipped, func(a, b concordat.Skipped) int { return a.Span.Start - b.Span.Start })
	f.Checked, f.Skipped = checked, skipped
}

// Keep stores findings, results and the score, and ends the task as partial if some partner did not answer in full, or else as done.
func (s *Site) Keep(ctx context.Context, task store.Task, f *report.Findings) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("findings: %w", err)
	}
	if err := s.o.Store.Checks.PutFindings(ctx, task.ID, data); err != nil {
		return fmt.Errorf("keep findings: %w", err)
	}
	if err := s.o.Store.Checks.PutResults(ctx, task.ID, ResultsOf(f)); err != nil {
		return fmt.Errorf("keep results: %w", err)
	}
	state := concordat.TaskDone
	for _, c := range f.Consulted {
		if c.Answered < c.Asked || c.Err != "" {
			state = concordat.TaskPartial
		}
	}
	rep, err := s.Score(ctx, task.ID, f)
	if err != nil {
		return fmt.Errorf("score: %w", err)
	}
	return s.o.Store.Checks.FinishCheck(ctx, task, state, rep.LeadCount())
}

// ResultsOf returns rows for the results table, which enables deletion to find them. There is one per passage, per source that cites the
// same works, and per lead.
func ResultsOf(f *report.Findings) []store.Result {
	results := make([]store.Result, 0, len(f.Passages)+len(f.SharedWorks))
	for _, p := range f.Passages {
		results = append(results, store.Result{Span: p.Span, Kind: p.Kind, Similarity: p.Similarity, Source: p.Source, Title: p.Title,
			SourceSpan: p.SourceSpan, Documents: p.Documents})
	}
	for _, w := range f.SharedWorks {
		r := store.Result{Kind: concordat.KindWorks, Source: w.Source, Title: w.Title}
		if len(w.Entries) > 0 {
			r.Span = w.Entries[0]
		}
		results = append(results, r)
	}
	for _, l := range f.Leads {
		results = append(results, store.Result{Span: l.Span, Kind: concordat.KindLead, Source: l.Source, Title: l.Title,
			SourceSpan: l.SourceSpan})
	}
	return results
}

// headed returns a submission's sections, as determined by the given headings or its templates' headings.
func headed(f *report.Findings, headings *segment.Template) []concordat.Section {
	if headings == nil {
		var forms []string
		for _, t := range f.Templates {
			forms = append(forms, t.Text)
		}
		headings = segment.FormTemplate(forms...)
	}
	var out []concordat.Section
	for _, s := range headings.Find(f.Submission.Text) {
		out = append(out, concordat.Section{Name: s.Name, Span: concordat.Span(s.Span)})
	}
	return out
}
