package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/align"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// watchTable finds sentences of standing checks close to a new one, within their gates and the reach of concordat.ProbeOne.
type watchTable struct {
	tasks     []concordat.TaskID
	sentences []watchedSentence
	bands     [concordat.Bands]map[uint32][]int32
	// held has a bit for each band value in bands, which settles most look-ups.
	held [concordat.Bands][1 << concordat.BandBits / 64]uint64
}

type watchedSentence struct {
	concordat.Sentence
	task int32
}

func newWatchTable(all []store.Standing) *watchTable {
	t := &watchTable{}
	for i := range t.bands {
		t.bands[i] = map[uint32][]int32{}
	}
	for _, s := range all {
		for _, x := range s.Sentences {
			n := int32(len(t.sentences))
			t.sentences = append(t.sentences, watchedSentence{x, int32(len(t.tasks))})
			for b := range t.bands {
				v := x.Fingerprint.Band(b)
				t.bands[b][v] = append(t.bands[b][v], n)
				t.held[b][v/64] |= 1 << (v % 64)
			}
		}
		t.tasks = append(t.tasks, s.Task)
	}
	return t
}

// near returns the indices of the sentences close to f, without duplicates.
func (t *watchTable) near(f concordat.Fingerprint) []int32 {
	var out []int32
	try := func(b int, v uint32) {
		if t.held[b][v/64]&(1<<(v%64)) == 0 {
			return
		}
		for _, n := range t.bands[b][v] {
			if x := &t.sentences[n]; x.Fingerprint.Distance(f) <= x.Gate {
				out = append(out, n)
			}
		}
	}
	for b := range t.bands {
		v := f.Band(b)
		try(b, v)
		for nibble := 0; nibble < concordat.BandBits; nibble += 4 {
			for x := uint32(1); x < 16; x++ {
				try(b, v^x<<nibble)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// watchCache caches the table as long as the standing checks do not change.
type watchCache struct {
	mu    sync.Mutex // protects the following fields
	tasks []concordat.TaskID
	table *watchTable
}

// watched returns the table of standing checks under the site's scheme, or nil if there are none.
func (s *Site) watched(ctx context.Context) (*watchTable, error) {
	tasks, err := s.o.Store.Alerts.StandingTasks(ctx)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	s.stands.mu.Lock()
	defer s.stands.mu.Unlock()
	if s.stands.table != nil && slices.Equal(tasks, s.stands.tasks) {
		return s.stands.table, nil
	}
	var all []store.Standing
	for _, id := range tasks {
		x, err := s.o.Store.Alerts.Standing(ctx, id)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // the check ended in the meantime
		}
		if err != nil {
			return nil, err
		}
		if x.Scheme == s.Scheme() {
			all = append(all, x)
		} else {
			s.o.Logger.Warn("standing check uses a different scheme, so it finds nothing", "task", id, "scheme", x.Scheme)
		}
	}
	s.stands.tasks, s.stands.table = tasks, newWatchTable(all)
	return s.stands.table, nil
}

// watch raises alerts for new documents that match standing checks.
func (s *Site) watch(ctx context.Context, profiles []*concordat.Profile) error {
	t, err := s.watched(ctx)
	if err != nil || t == nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.o.Workers)
	for _, p := range profiles {
		by := map[int32][]compare.Hit{}
		for i, x := range p.Indexed {
			for _, n := range t.near(x.Fingerprint) {
				own := &t.sentences[n]
				by[own.task] = append(by[own.task], compare.Hit{Span: own.Span, Source: x.Span, Distance: own.Fingerprint.Distance(x.Fingerprint),
					Ordinal: i})
			}
		}
		for task, hits := range by {
			if p.Document.ID == CaseDocument(t.tasks[task]) {
				continue // the document is the check's own text
			}
			compare.Go(g, func() error { return s.alertHere(ctx, t.tasks[task], p, hits) })
		}
	}
	return g.Wait()
}

// alertHere compares a new document with the submission of a standing check, and raises an alert if they share a passage not previously
// found by the check.
func (s *Site) alertHere(ctx context.Context, task concordat.TaskID, p *concordat.Profile, hits []compare.Hit) error {
	f, err := s.KeptFindings(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil // the check is still running and reads the index itself
	}
	if err != nil {
		return err
	}
	if f.Withheld != nil {
		return nil // no text remains to compare
	}
	ref := s.Ref(p.Document.Library, p.Document.ID)
	if f.Submission.Text == p.Document.Text || slices.ContainsFunc(f.Passages, func(x concordat.Passage) bool { return x.Source == ref }) {
		return nil // the document is the submission itself, or already known
	}
	c := &compare.Candidate{Ref: ref, Hits: hits}
	if related, err := s.comparer().Related(f.Submission.Text, c, p.Document.Text); err != nil || !related {
		return err
	}
	var spans []concordat.Span
	for _, x := range align.Pair(align.Prepare(f.Submission.Text), align.Prepare(p.Document.Text), align.Options{}) {
		spans = append(spans, x.A)
	}
	if spans = compare.Joined(spans); len(spans) == 0 {
		return nil
	}
	_, err = s.o.Store.Alerts.PutAlert(ctx, store.Alert{Task: task, At: s.o.Now(), Source: ref, Title: p.Document.Title,
		Sentences: distinctSpans(hits), Spans: spans, Words: fmt.Sprintf("a document added since then contains %s of the submission %q",
			report.Plural(lettersOf(f.Submission.Text, spans), "letter", "letters"), f.Submission.Title)})
	return err
}

func lettersOf(text string, spans []concordat.Span) int {
	count, n := report.NewCounter(text), 0
	for _, x := range spans {
		n += count.Characters(x)
	}
	return n
}

func distinctSpans(hits []compare.Hit) int {
	seen := map[concordat.Span]bool{}
	for _, h := range hits {
		seen[h.Span] = true
	}
	return len(seen)
}

// Alerts returns later documents, here and at partners, that matched standing checks, after the given number and oldest first. It returns
// up to limit or, if limit is 0, up to the store's largest page.
func (s *Site) Alerts(ctx context.Context, after int64, limit int) ([]store.Alert, error) {
	return s.o.Store.Alerts.Alerts(ctx, after, limit)
}

// Later returns the documents that matched a standing check after its report was made, latest first, for use in the report.
func Later(ctx context.Context, db *store.DB, task concordat.TaskID) (out []report.Later, err error) {
	alerts, err := db.Alerts.FilterAlerts(ctx, store.AlertFilter{Side: store.AlertFound, Task: task}, 0, report.MaxLater)
	if err != nil {
		return nil, err
	}
	authors, err := AuthorsOf(ctx, db, alerts)
	for _, a := range alerts {
		out = append(out, report.Later{Alert: a.Seq, Source: a.Source, Title: a.Title, Authors: authors[a.Seq], At: a.At, Level: a.Level,
			Sentences: a.Sentences, Read: report.LaterMark(a.Read), Handled: report.LaterMark(a.Handled)})
	}
	return out, err
}

// AuthorsOf returns the known authors of the documents reported by alerts, keyed by alert number. For a document of this site, they come
// from its repository or else from its file; for a partner's document, they are as stated by the partner.
func AuthorsOf(ctx context.Context, db *store.DB, alerts []store.Alert) (map[int64][]concordat.Creator, error) {
	out := map[int64][]concordat.Creator{}
	for _, a := range alerts {
		if a.Level != "" {
			out[a.Seq] = concordat.ParseCreators(a.Author)
			continue
		}
		works, err := db.Harvest.Works(ctx, a.Source.Library, []concordat.DocumentID{a.Source.Document})
		if err != nil {
			return nil, err
		}
		if out[a.Seq] = works[a.Source.Document].Creators; len(out[a.Seq]) > 0 {
			continue
		}
		row, err := db.Catalogue.DocumentRow(ctx, a.Source.Library, a.Source.Document)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return nil, err
		}
		out[a.Seq] = concordat.ParseCreators(row.Author)
	}
	return out, nil
}

// Watch compares later documents with the submission of a finished check, and raises alerts if they match. If the text is not stored, it
// fails with concordat.ErrInvalid. Partners are asked to watch only at the beginning of a check.
func (s *Site) Watch(ctx context.Context, task concordat.TaskID) error {
	f, err := s.KeptFindings(ctx, task)
	if err != nil {
		return err
	}
	if !f.TextKept() {
		return fmt.Errorf("watch %s: %w: the text of the submission was not kept", task, concordat.ErrInvalid)
	}
	p, err := s.o.Profiler.Profile(concordat.Document{ID: f.Submission.ID, Title: f.Submission.Title, Text: f.Submission.Text,
		Added: s.o.Now()}, nil)
	if err != nil {
		return err
	}
	return s.o.Store.Alerts.PutStanding(ctx, store.Standing{Task: task, Scheme: p.Scheme, Made: s.o.Now(), Sentences: p.Questions()})
}

// StandingChecks returns the tasks of checks that keep watching, in order.
func (s *Site) StandingChecks(ctx context.Context) ([]concordat.TaskID, error) {
	return s.o.Store.Alerts.StandingTasks(ctx)
}

// ChangeAlert marks an alert and adds an audit entry in one transaction. It reports whether the mark changed anything; if not, it adds no
// entry.
func ChangeAlert(ctx context.Context, db *store.DB, seq int64, change store.AlertChange, by string,
	at time.Time) (changed bool, err error) {
	err = db.Atomic(ctx, func(tx *store.DB) error {
		if changed, err = tx.Alerts.ChangeAlert(ctx, seq, change, by, at); err != nil || !changed {
			return err
		}
		return tx.Audit.Note(ctx, by, "alert_"+string(change), map[string]any{"alert": seq})
	})
	return changed, err
}
