package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/align"
	"concordat/report"
	"concordat/store"
)

// watchTable finds the sentences of standing checks near a new one: within their gates, as far as
// concordat.ProbeOne looks.
type watchTable struct {
	tasks     []concordat.TaskID
	sentences []watchedSentence
	bands     [concordat.Bands]map[uint32][]int32
	// held has a bit for each value of a band that stands in bands: most look-ups end there.
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

// near returns the indices of the sentences near f, each once.
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

// watchCache keeps the table while the standing checks stay the same.
type watchCache struct {
	mu    sync.Mutex // guards the rest
	tasks []concordat.TaskID
	table *watchTable
}

// watched returns the table of the standing checks of the site's scheme, nil where there are none.
func (s *Site) watched(ctx context.Context) (*watchTable, error) {
	tasks, err := s.o.Store.StandingTasks(ctx)
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
		x, err := s.o.Store.Standing(ctx, id)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		if x.Scheme == s.Scheme() {
			all = append(all, x)
		} else {
			s.o.Logger.Warn("standing check is of another scheme and finds nothing", "task", id, "scheme", x.Scheme)
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
		by := map[int32][]hit{}
		for i, x := range p.Indexed {
			for _, n := range t.near(x.Fingerprint) {
				own := &t.sentences[n]
				by[own.task] = append(by[own.task], hit{span: own.Span, source: x.Span, distance: own.Fingerprint.Distance(x.Fingerprint), ordinal: i})
			}
		}
		for task, hits := range by {
			g.Go(func() error { return s.alertHere(ctx, t.tasks[task], p, hits) })
		}
	}
	return g.Wait()
}

// alertHere compares a new document with the submission of a standing check, and raises an alert if they
// share a passage that the check has not found before.
func (s *Site) alertHere(ctx context.Context, task concordat.TaskID, p *concordat.Profile, hits []hit) error {
	f, err := s.findings(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil // the check goes on, and reads the index itself
	}
	if err != nil {
		return err
	}
	if f.Withheld != nil {
		return nil // there is no text left to compare
	}
	ref := s.ref(p.Document.Library, p.Document.ID)
	if f.Submission.Text == p.Document.Text || slices.ContainsFunc(f.Passages, func(x concordat.Passage) bool { return x.Source == ref }) {
		return nil // the submission itself, or known
	}
	c := &candidate{ref: ref, hits: hits}
	if related, err := s.related(f.Submission.Text, c, p.Document.Text); err != nil || !related {
		return err
	}
	var spans []concordat.Span
	for _, x := range align.Pair(align.Prepare(f.Submission.Text), align.Prepare(p.Document.Text), align.Options{}) {
		spans = append(spans, x.A)
	}
	if spans = joined(spans); len(spans) == 0 {
		return nil
	}
	_, err = s.o.Store.PutAlert(ctx, store.Alert{Task: task, At: s.o.Now(), Source: ref, Title: p.Document.Title,
		Sentences: distinctSpans(hits), Spans: spans, Words: fmt.Sprintf("a document added since holds %s of the submission %q",
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

func distinctSpans(hits []hit) int {
	seen := map[concordat.Span]bool{}
	for _, h := range hits {
		seen[h.span] = true
	}
	return len(seen)
}

// Alerts returns what later documents, here and at partners, matched standing checks, after the given
// number and oldest first: at most limit, all up to the store's largest page where limit is 0.
func (s *Site) Alerts(ctx context.Context, after int64, limit int) ([]store.Alert, error) {
	return s.o.Store.Alerts(ctx, after, limit)
}

// StandingChecks returns the tasks whose checks stay, in order.
func (s *Site) StandingChecks(ctx context.Context) ([]concordat.TaskID, error) {
	return s.o.Store.StandingTasks(ctx)
}

// EndStanding ends a standing check, here at once and at each of the partners that keeps it. Partners
// that keep it and are not given, or cannot be told, are named in the error; the call can be repeated.
// ErrNotFound: nothing stands.
func (s *Site) EndStanding(ctx context.Context, task concordat.TaskID, partners ...concordat.Partner) error {
	asks, err := s.o.Store.Asks(ctx, task)
	if err != nil {
		return err
	}
	asks = slices.DeleteFunc(asks, func(a store.Ask) bool { return !a.Standing })
	if err := s.o.Store.EndStanding(ctx, task); err != nil && !(errors.Is(err, concordat.ErrNotFound) && len(asks) > 0) {
		return err
	}
	var errs []error
	for _, a := range asks {
		i := slices.IndexFunc(partners, func(p concordat.Partner) bool { return p.Site() == a.Site })
		if i < 0 {
			errs = append(errs, fmt.Errorf("standing check %s at %s: %w: not told", task, a.Site, concordat.ErrUnavailable))
			continue
		}
		err := partners[i].Notify(ctx, &concordat.Notice{Kind: concordat.NoticeEnded, Job: a.Job, At: s.o.Now()})
		var no *concordat.Refusal
		if err == nil || errors.As(err, &no) && no.Reason == concordat.ReasonUnknown { // it has forgotten it already
			err = s.o.Store.SetAskStanding(ctx, a.Job, false)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("standing check %s at %s: %w", task, a.Site, err))
		}
	}
	return errors.Join(errs...)
}

// Noticed takes a partner's notice to the asking side: alerts of standing checks, withdrawn
// libraries, decided disclosures. from is who sent it, known for certain. It returns the task
// concerned, empty for a withdrawn library, whose mirrors are not used from then on and are deleted at
// their next SyncMirror or DropMirror. After a disclosure the caller asks with RefreshDisclosures.
// Notices about what the partner was never asked are a *concordat.Refusal.
func (s *Site) Noticed(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error) {
	if n.Kind == concordat.NoticeWithdrawn {
		return "", s.o.Store.WithdrawMirrors(ctx, from, n.Library, s.o.Now())
	}
	a, err := s.o.Store.Ask(ctx, n.Job)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && a.Site != from {
		return "", &concordat.Refusal{Reason: concordat.ReasonUnknown}
	}
	if err != nil {
		return "", err
	}
	switch n.Kind {
	case concordat.NoticeAlert:
		if !a.Standing {
			return a.Task, &concordat.Refusal{Reason: concordat.ReasonUnknown}
		}
		return a.Task, s.alerted(ctx, &a, n)
	case concordat.NoticeDisclosure:
		return a.Task, nil
	}
	return a.Task, fmt.Errorf("notice %q: %w", plain(n.Kind, 40), concordat.ErrInvalid)
}

// mostAlerts bounds the documents of one notice.
const mostAlerts = 1000

// alerted keeps the alerts of a partner's notice.
func (s *Site) alerted(ctx context.Context, a *store.Ask, n *concordat.Notice) error {
	t := n.Tell
	if t == nil || len(t.Documents) > mostAlerts {
		return fmt.Errorf("alert without its matches: %w", concordat.ErrInvalid)
	}
	ask := &concordat.Ask{Sentences: make([]concordat.AskedSentence, len(a.Spans))}
	for _, l := range t.Libraries {
		ask.Libraries = append(ask.Libraries, l.Library)
	}
	if err := validTell(ask, t); err != nil {
		return fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
	}
	told := map[int]bool{} // libraries of which documents are told
	for i, d := range t.Documents {
		l := t.Libraries[d.Library]
		told[d.Library] = true
		x := store.Alert{Task: a.Task, At: s.o.Now(), Level: l.Level, Sentences: d.Matches, Title: plain(d.Title, mostName),
			Author: plain(d.Author, mostName), Contact: plain(d.Contact, mostName), Words: plain(n.Words, mostName),
			Source: concordat.Ref{Site: a.Site, Library: l.Library, Document: HandleName(d.Handle)}}
		for _, h := range t.Hits {
			if h.Document == i {
				x.Spans = append(x.Spans, a.Spans[h.Sentence])
			}
		}
		x.Spans = joined(x.Spans)
		if _, err := s.o.Store.PutAlert(ctx, x); err != nil {
			return err
		}
	}
	for i, l := range t.Libraries {
		if told[i] || !l.Exists {
			continue
		}
		_, err := s.o.Store.PutAlert(ctx, store.Alert{Task: a.Task, At: s.o.Now(), Level: l.Level, Sentences: l.Sentences,
			Source: concordat.Ref{Site: a.Site, Library: l.Library}, Words: plain(n.Words, mostName)})
		if err != nil {
			return err
		}
	}
	return nil
}
