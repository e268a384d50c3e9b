package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/site/compare"
	"concordat/store"
)

// Listener is a partner that receives this site's notices. Its methods fail like those of site.Partner.
type Listener interface {
	Site() concordat.SiteID
	Notify(ctx context.Context, n *concordat.Notice) error
}

// EndStanding ends a standing check, immediately at this site and then at every partner that stores it. The error names partners that
// store it but are not among those passed or cannot be reached; the call can be repeated. If there is no standing check, the error is
// ErrNotFound.
func (s *Asker) EndStanding(ctx context.Context, task concordat.TaskID, partners ...Listener) error {
	asks, err := s.o.Store.Asks.Asks(ctx, task)
	if err != nil {
		return err
	}
	asks = slices.DeleteFunc(asks, func(a store.Ask) bool { return !a.Standing })
	if err := s.o.Store.Alerts.EndStanding(ctx, task); err != nil && !(errors.Is(err, concordat.ErrNotFound) && len(asks) > 0) {
		return err
	}
	var errs []error
	for _, a := range asks {
		i := slices.IndexFunc(partners, func(p Listener) bool { return p.Site() == a.Site })
		if i < 0 {
			errs = append(errs, fmt.Errorf("standing check %s at %s: %w: the partner was not notified", task, a.Site, concordat.ErrUnavailable))
			continue
		}
		err := partners[i].Notify(ctx, &concordat.Notice{Kind: concordat.NoticeEnded, Job: a.Job, At: s.o.Now()})
		var no *concordat.Refusal
		if err == nil || errors.As(err, &no) && no.Reason == concordat.ReasonUnknown { // the partner has deleted it already
			err = s.o.Store.Asks.SetAskStanding(ctx, a.Job, false)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("standing check %s at %s: %w", task, a.Site, err))
		}
	}
	return errors.Join(errs...)
}

// Noticed handles a partner's notice to this site as asker: alerts of standing checks, withdrawn libraries, decided disclosures. from is
// the authenticated sender. It returns the task concerned, or an empty ID for a withdrawn library, whose mirrors fall out of use and are
// deleted at the next SyncMirror or DropMirror. After a disclosure, the caller should call RefreshDisclosures. A notice about something
// the partner was never asked fails with a *concordat.Refusal.
func (s *Asker) Noticed(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error) {
	if n.Kind == concordat.NoticeWithdrawn {
		return "", s.o.Store.Asks.WithdrawMirrors(ctx, from, n.Library, s.o.Now())
	}
	a, err := s.o.Store.Asks.Ask(ctx, n.Job)
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
	return a.Task, fmt.Errorf("notice of unknown kind %q: %w", plain(n.Kind, 40), concordat.ErrInvalid)
}

// maxAlerts is the maximum number of documents in one notice.
const maxAlerts = 1000

// alerted stores the alerts in a partner's notice.
func (s *Asker) alerted(ctx context.Context, a *store.Ask, n *concordat.Notice) error {
	t := n.Answer
	if t == nil || len(t.Documents) > maxAlerts {
		return fmt.Errorf("alert with no answer or too many documents: %w", concordat.ErrInvalid)
	}
	ask := &concordat.Ask{Sentences: make([]concordat.AskedSentence, len(a.Spans))}
	for _, l := range t.Libraries {
		ask.Libraries = append(ask.Libraries, l.Library)
	}
	if err := validAnswer(ask, t); err != nil {
		return fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
	}
	told := map[int]bool{} // libraries of the documents reported
	for i, d := range t.Documents {
		l := t.Libraries[d.Library]
		told[d.Library] = true
		x := store.Alert{Task: a.Task, At: s.o.Now(), Level: l.Level, Sentences: d.Matches, Title: plain(d.Title, maxName),
			Author: plain(d.Author, maxName), Contact: plain(d.Contact, maxName), Words: plain(n.Words, maxName),
			Source: concordat.Ref{Site: a.Site, Library: l.Library, Document: HandleName(d.Handle)}}
		for _, h := range t.Hits {
			if h.Document == i {
				x.Spans = append(x.Spans, a.Spans[h.Sentence])
			}
		}
		x.Spans = compare.Joined(x.Spans)
		if err := s.openCase(ctx, a, x, d.Handle); err != nil {
			return err
		}
	}
	for i, l := range t.Libraries {
		if told[i] || !l.Exists {
			continue
		}
		err := s.openCase(ctx, a, store.Alert{Task: a.Task, At: s.o.Now(), Level: l.Level, Sentences: l.Sentences,
			Source: concordat.Ref{Site: a.Site, Library: l.Library}, Words: plain(n.Words, maxName)}, concordat.Handle{})
		if err != nil {
			return err
		}
	}
	return nil
}

// openCase stores an alert from a partner's notice, and opens the case about it that the two sites share.
func (s *Asker) openCase(ctx context.Context, a *store.Ask, x store.Alert, h concordat.Handle) error {
	if _, err := s.o.Store.Alerts.PutAlert(ctx, x); err != nil {
		return err
	}
	return s.o.Store.Cases.Open(ctx, store.SharedCase{ID: concordat.NewCaseID(a.Job, x.Source.Library, h),
		Side: store.AlertFound, Partner: a.Site, Job: a.Job, Handle: h, Task: a.Task, Source: x.Source, Title: x.Title, Level: x.Level,
		Sentences: x.Sentences, Opened: x.At})
}
