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
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
	"concordat/store"
)

// Submission is a document to be checked. It is not stored in any library.
type Submission struct {
	ID    concordat.DocumentID
	Title string
	Text  string
	Flags []concordat.Flag // what its extraction noticed
	// Dated is when it is from, and DatedBy who says so; empty: unknown.
	Dated   concordat.Date
	DatedBy concordat.DateOrigin
}

// CheckOptions say what a check compares with. The zero value asks all libraries with probes.
type CheckOptions struct {
	Libraries []concordat.LibraryID // empty: all that have not expired
	Exclude   []concordat.Ref       // documents never shown: earlier versions of the submission
	Exact     bool                  // look up exact bands only: faster, finds less
	Channel   Channel               // by what documents are nominated; zero: fingerprints and words
	Template  *segment.Template     // sections of the submission; nil: none
	// Templates are given wordings besides those of the libraries: they give no score.
	Templates []report.Template
	// Short asks for titles, headings and other texts too short for fingerprints as well, from the
	// least similarity ShortThreshold on, above 0 to 1; 0: 0.5.
	Short          bool
	ShortThreshold float64
	// Candidates is the most source documents whose text is compared, best first; 0: 200. What is
	// left out is said in the findings.
	Candidates int
	// Threshold is the covered share from which a report asks to be read, 0 to 1; 0: 0.3.
	Threshold float64
	// Forward says which sentences the Partners are asked: ForwardUnmatched, ForwardAll or ForwardNone;
	// empty: unmatched.
	Forward string
	// Partners are the other sites to ask, with the libraries of each.
	Partners []PartnerLibraries
	// Mirrors are the mirrored libraries of partners to compare with. They are never asked.
	Mirrors []MirroredLibrary
	// Standing keeps the check: documents that come later and match raise an alert, here and at
	// partners that keep standing asks, until [Site.EndStanding].
	Standing bool
	// Progress, if not nil, is told how far the check is. It may be called concurrently.
	Progress func(Progress)
}

// Progress tells how far a check is.
type Progress struct {
	Stage string `json:"stage"` // fingerprint, match, search, verify, align, partner
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// Partner, State and Reason are of stage partner: how far the partner is. Done counts the partners that
	// have come to an end, of Total.
	Partner concordat.SiteID `json:"partner,omitempty"`
	State   PartnerState     `json:"state,omitempty"`
	Reason  concordat.Reason `json:"reason,omitempty"` // why it gave no whole answer
}

const (
	defaultCandidates = 200
	defaultThreshold  = 0.3
	// matchLimit is the most matches taken for one sentence: beyond it the wording is common, and
	// more of its sources add nothing to a reader.
	matchLimit = 64
	// contextBytes is how much of a source is kept before and after a passage.
	contextBytes = 240
	// lease is how long a task is ours without a sign of life; a check renews nothing, as it is
	// bounded by its caller.
	lease = 24 * time.Hour
)

// Check compares a submission with the libraries and keeps the findings under a new task. The
// findings are returned even when something asked did not answer; they say so. After an error the
// task is kept as failed with its cause.
func (s *Site) Check(ctx context.Context, sub Submission, o CheckOptions) (*report.Findings, error) {
	if err := CheckName(string(sub.ID)); err != nil {
		return nil, fmt.Errorf("submission: %w", err)
	}
	if err := checkText(sub.Text); err != nil {
		return nil, fmt.Errorf("submission %s: %w", sub.ID, err)
	}
	if o.Candidates < 0 {
		return nil, fmt.Errorf("submission %s: %d candidates: %w", sub.ID, o.Candidates, concordat.ErrInvalid)
	}
	if !(o.ShortThreshold >= 0 && o.ShortThreshold <= 1) {
		return nil, fmt.Errorf("submission %s: least similarity %v of short texts: %w: want above 0, at most 1", sub.ID, o.ShortThreshold,
			concordat.ErrInvalid)
	}
	if err := sub.Dated.Validate(); err != nil {
		return nil, fmt.Errorf("submission %s: %w", sub.ID, err)
	}
	if err := errors.Join(o.Channel.check(), o.checkForward()); err != nil {
		return nil, err
	}
	libraries, err := s.libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	made := s.o.Now()
	task, err := s.o.Store.StartTask(ctx, store.Task{Task: concordat.Task{
		ID: concordat.TaskID(strings.ToLower(rand.Text())), Title: cmp.Or(sub.Title, string(sub.ID)), Made: made,
	}}, "check", lease)
	if err != nil {
		return nil, fmt.Errorf("start task: %w", err)
	}
	f, err := s.find(ctx, task.ID, sub, o, libraries)
	if err == nil {
		f.Task, f.Made = task.ID, made
		err = s.keep(ctx, task, f)
	}
	if err != nil {
		// The cause is kept even if ctx is what ended the check.
		return nil, errors.Join(err, s.o.Store.FinishTask(context.WithoutCancel(ctx), task, concordat.TaskFailed, err.Error()))
	}
	return s.veil(ctx, f)
}

// libraries returns the libraries to ask.
func (s *Site) libraries(ctx context.Context, ids []concordat.LibraryID) ([]store.Library, error) {
	if len(ids) == 0 {
		all, err := s.o.Store.Libraries(ctx)
		now := s.o.Now()
		return slices.DeleteFunc(all, func(l store.Library) bool {
			return !l.Policy.Expires.IsZero() && !now.Before(l.Policy.Expires)
		}), err
	}
	var out []store.Library
	for _, id := range ids {
		l, err := s.o.Store.Library(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", id, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// find does the work of a check. After an error the task does not stand.
func (s *Site) find(ctx context.Context, task concordat.TaskID, sub Submission, o CheckOptions,
	libraries []store.Library) (*report.Findings, error) {
	if err := o.checkForward(); err != nil {
		return nil, err
	}
	f, err := s.compareAll(ctx, task, sub, o, libraries, nil)
	if err != nil && o.Standing {
		if end := s.o.Store.EndStanding(context.WithoutCancel(ctx), task); !errors.Is(end, concordat.ErrNotFound) {
			err = errors.Join(err, end)
		}
	}
	return f, err
}

// compareAll compares a submission with the documents of this site, of mirrors and of partners.
// known is wording of the submission that is known to be shared by right already.
func (s *Site) compareAll(ctx context.Context, task concordat.TaskID, sub Submission, o CheckOptions, libraries []store.Library,
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
	if o.Standing { // from here on, so that nothing added meanwhile is missed
		if err := s.o.Store.PutStanding(ctx, store.Standing{Task: task, Scheme: p.Scheme, Made: s.o.Now(),
			Sentences: p.Questions()}); err != nil {
			return nil, err
		}
	}
	q := s.query(p, o, libraries)
	began := time.Now()
	found, err := s.ask(ctx, p, q, o, progress)
	if err != nil {
		return nil, err
	}
	f := &report.Findings{
		Version: report.Version, Submission: p.Document, Scheme: p.Scheme, Sections: p.Sections, Skipped: p.Skipped,
		Checked: checked(p), Characters: p.Characters, Flags: sub.Flags, Made: s.o.Now(),
		Threshold: cmp.Or(o.Threshold, defaultThreshold), Probe: q.Probe.String(),
		Dated: sub.Dated, DatedBy: sub.DatedBy,
	}
	for _, l := range libraries {
		c := concordat.Consulted{Site: s.o.ID, Library: l.ID, Asked: len(q.Fingerprints), Answered: len(q.Fingerprints),
			Missing: found.missing, Capped: found.capped, Took: time.Since(began)}
		if len(found.missing) > 0 {
			c.Answered = 0
		}
		f.Consulted = append(f.Consulted, c)
	}
	if found.left > 0 {
		f.Flags = append(f.Flags, concordat.Flag{Code: "candidates_left_out", Count: found.left,
			Detail: fmt.Sprintf("%d more documents share a little wording with the submission; the %d closest were compared", found.left,
				len(found.candidates))})
	}
	if f.Templates, err = s.templates(ctx, q.Libraries, o.Templates); err != nil {
		return nil, err
	}
	shared := shareable(sub.Text, templateTexts(f.Templates))
	shared.add(known)
	if f.Passages, err = s.align(ctx, shared, q, p.Questions(), found.candidates, documentsOf(libraries)+1, progress); err != nil {
		return nil, err
	}
	f.Wording, f.WordingOf, f.SharedWorks = shared.found, documentsOf(libraries)+1, shared.cited
	if err := s.complete(ctx, f, p, q, o); err != nil {
		return nil, err
	}
	return f, s.forward(ctx, task, f, sub, &o, found.candidates, shared, progress)
}

// templates returns the given ones and those that the libraries hand out themselves.
func (s *Site) templates(ctx context.Context, libraries []concordat.LibraryID, given []report.Template) ([]report.Template, error) {
	out := slices.Clone(given)
	for _, id := range libraries {
		ts, err := s.o.Store.Templates(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, t := range ts {
			out = append(out, report.Template{Site: s.o.ID, Library: id, Name: t.Name, Text: t.Text})
		}
	}
	return out, nil
}

// documentsOf returns the number of documents of libraries.
func documentsOf(libraries []store.Library) int {
	n := 0
	for _, l := range libraries {
		n += l.Documents
	}
	return n
}

// complete adds to findings what does not come from comparing texts: the short texts, and the ages of the sources.
func (s *Site) complete(ctx context.Context, f *report.Findings, p *concordat.Profile, q *concordat.Query, o CheckOptions) error {
	var err error
	if o.Short {
		if f.Short, err = s.findShort(ctx, p, q, o.ShortThreshold); err != nil {
			return err
		}
	}
	f.Dates, err = s.ages(ctx, f)
	return err
}

// asked is what the libraries answered.
type asked struct {
	candidates []*candidate
	left       int // candidates for which there is no room
	missing    []concordat.ShardID
	capped     int
}

// ask asks by fingerprints and by words for the documents to be compared.
func (s *Site) ask(ctx context.Context, p *concordat.Profile, q *concordat.Query, o CheckOptions, progress func(Progress)) (*asked, error) {
	out := &asked{}
	if len(q.Libraries) == 0 {
		return out, nil
	}
	var prints, texts []*candidate
	if n := len(q.Fingerprints); n > 0 && o.Channel != ChannelText {
		progress(Progress{Stage: "match", Done: 0, Total: n})
		a, err := s.o.Index.Match(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("match: %w", err)
		}
		prints, out.missing, out.capped = s.nominate(p.Questions(), a.Matches), a.Missing, a.Capped
		progress(Progress{Stage: "match", Done: n, Total: n})
	}
	if n := len(p.Windows); n > 0 && o.Channel != ChannelFingerprints {
		progress(Progress{Stage: "search", Done: 0, Total: n})
		var missing []concordat.ShardID
		var err error
		if texts, missing, err = s.nominateText(ctx, p, q); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		out.missing = slices.Compact(slices.Sorted(slices.Values(append(out.missing, missing...))))
		progress(Progress{Stage: "search", Done: n, Total: n})
	}
	out.candidates, out.left = merge(prints, texts, cmp.Or(o.Candidates, defaultCandidates))
	var err error
	if out.candidates, err = s.catalogued(ctx, out.candidates); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return out, nil
}

func (s *Site) query(p *concordat.Profile, o CheckOptions, libraries []store.Library) *concordat.Query {
	q := &concordat.Query{Scheme: p.Scheme, Exclude: o.Exclude, MaxDistance: profile.MaxGate, MaxHashes: s.o.Profiler.MaxHashes(),
		Limit: matchLimit, Probe: concordat.ProbeOne}
	if o.Exact {
		q.Probe = concordat.ProbeExact
	}
	for _, l := range libraries {
		q.Libraries = append(q.Libraries, l.ID)
	}
	for _, sentence := range p.Questions() {
		q.Fingerprints = append(q.Fingerprints, sentence.Fingerprint)
	}
	return q
}

// checked returns the spans that were fingerprinted, joined.
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

// keep stores findings and results and ends the task.
func (s *Site) keep(ctx context.Context, task store.Task, f *report.Findings) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("findings: %w", err)
	}
	if err := s.o.Store.PutFindings(ctx, task.ID, data); err != nil {
		return fmt.Errorf("keep findings: %w", err)
	}
	if err := s.o.Store.PutResults(ctx, task.ID, resultsOf(f)); err != nil {
		return fmt.Errorf("keep results: %w", err)
	}
	state := concordat.TaskDone
	for _, c := range f.Consulted {
		if c.Answered < c.Asked || c.Err != "" {
			state = concordat.TaskPartial
		}
	}
	return s.o.Store.FinishTask(ctx, task, state, "")
}

// resultsOf returns the rows of the results table: one for each passage, and one for each source of works that both
// cite, by which a deletion finds them.
func resultsOf(f *report.Findings) []store.Result {
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
	return results
}

// Findings returns what a check found, as it may be seen today: sources under an embargo without title
// and wording, and a word about sources that were deleted since; or concordat.ErrNotFound.
func (s *Site) Findings(ctx context.Context, id concordat.TaskID) (*report.Findings, error) {
	f, _, err := s.FindingsAt(ctx, id)
	return f, err
}

// FindingsAt is Findings with their revision, which grows with every change of what is kept.
func (s *Site) FindingsAt(ctx context.Context, id concordat.TaskID) (*report.Findings, int64, error) {
	f, revision, err := s.findingsAt(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	f, err = s.veil(ctx, f)
	return f, revision, err
}

// findings returns what a check found as it is kept.
func (s *Site) findings(ctx context.Context, id concordat.TaskID) (*report.Findings, error) {
	f, _, err := s.findingsAt(ctx, id)
	return f, err
}

// findingsAt is findings with their revision.
func (s *Site) findingsAt(ctx context.Context, id concordat.TaskID) (*report.Findings, int64, error) {
	data, revision, err := s.o.Store.FindingsAt(ctx, id)
	if err != nil {
		return nil, 0, fmt.Errorf("findings of %s: %w", id, err)
	}
	var f report.Findings
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, 0, fmt.Errorf("findings of %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	if err := f.Validate(); err != nil {
		return nil, 0, fmt.Errorf("findings of %s: %w", id, err)
	}
	return &f, revision, nil
}

// changes is how often a change of findings is tried anew before it fails: others change them too,
// seldom and briefly.
const changes = 8

// changeFindings applies a change to the findings of a task and keeps them. Where another process has changed
// them meanwhile it reads them again and applies the change to those, so that no change is lost.
func (s *Site) changeFindings(ctx context.Context, id concordat.TaskID, change func(*report.Findings)) error {
	var err error
	for range changes {
		var f *report.Findings
		var revision int64
		if f, revision, err = s.findingsAt(ctx, id); err != nil {
			return err
		}
		change(f)
		data, err2 := json.Marshal(f)
		if err2 != nil {
			return err2
		}
		if err = s.o.Store.ReplaceFindings(ctx, id, revision, data); !errors.Is(err, concordat.ErrChanged) {
			return err
		}
	}
	return err
}
