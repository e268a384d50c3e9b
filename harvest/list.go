package harvest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/harvest/oai"
	"concordat/store"
)

const (
	maxRestarts = 5  // restarts of a list whose resumption tokens expire
	maxAttempts = 5  // attempts at one page
	maxAlone    = 20 // records of a page that are requested individually
	// overlap is the time by which a list overlaps the previous one, because repositories show a record some time after its date.
	overlap = time.Hour
)

// interfaces are the usual paths of the OAI-PMH interface below a repository's public address.
var interfaces = []string{"", "/oai/request", "/server/oai/request", "/oai", "/cgi/oai2", "/oai2d", "/oai/oai.php", "/index.php/index/oai"}

// formats are the metadata formats that state the location of texts, best first.
var formats = []string{"oai_jats", "jats", "xoai", "mets", "rioxx", "oai_datacite", "oai_dc"}

// listOAI reads a repository's list page by page. It stores each page together with the token of the next page.
func (x *run) listOAI(ctx context.Context) error {
	c, err := x.identify(ctx)
	if err != nil {
		return err
	}
	if x.state.Format == "" {
		if x.state.Format, err = x.format(ctx, c); err != nil {
			return err
		}
	}
	for {
		q := oai.Query{Format: x.state.Format, Set: x.source.Set, From: x.from(), Token: x.state.Token}
		var p *oai.Page
		err := x.persist(ctx, func() (err error) { p, err = c.List(ctx, q); return err })
		if refused := (*oai.Error)(nil); errors.As(err, &refused) && refused.Code == oai.BadToken && q.Token != "" {
			if x.state.Restarts++; x.state.Restarts > maxRestarts {
				return fmt.Errorf("the list was restarted %d times: %w", maxRestarts, err)
			}
			x.state.Token, x.state.Listed = "", 0
			continue
		}
		if err != nil {
			return err
		}
		if q.Token != "" && p.Token == q.Token {
			return errors.New("the repository returned the same resumption token twice, so the list does not advance")
		}
		if x.state.Until == "" {
			x.state.Until = p.Date
		}
		if err := x.readAlone(ctx, c, p.Records); err != nil {
			return err
		}
		records, err := x.merge(ctx, p.Records, c.Base)
		if err != nil {
			return err
		}
		x.state.Listed, x.state.Token = x.state.Listed+len(p.Records), p.Token
		x.state.Size = max(x.state.Size, p.Size)
		if err := x.keep(ctx, records...); err != nil {
			return err
		}
		if p.Token == "" {
			return nil
		}
	}
}

// readAlone requests the records of a page that could not be read there individually, since repositories truncate records or mix their
// encodings in lists. A record that cannot be read individually either keeps both reasons. An error means that no more requests may be
// sent to the repository at present.
func (x *run) readAlone(ctx context.Context, c *oai.Client, records []oai.Record) error {
	asked := 0
	for i, r := range records {
		if r.Err == nil || r.ID == "" || r.Deleted {
			continue
		}
		if asked++; asked > maxAlone {
			return nil
		}
		var alone oai.Record
		err := x.persist(ctx, func() (err error) { alone, err = c.Get(ctx, r.ID, x.state.Format); return err })
		if wait := (*later)(nil); errors.As(err, &wait) || ctx.Err() != nil {
			return err
		}
		if err == nil {
			err = alone.Err
		}
		if err == nil {
			records[i] = alone
		} else {
			records[i].Err = fmt.Errorf("%w; requesting the record alone also failed: %w", r.Err, err)
		}
	}
	return nil
}

// identify finds the repository's interface and reads its description.
func (x *run) identify(ctx context.Context) (*oai.Client, error) {
	var first error
	tries := interfaces
	if x.state.Base != "" {
		tries = []string{""}
	}
	for _, below := range tries {
		base := x.state.Base
		if base == "" {
			base = x.source.URL
			if below != "" {
				base = strings.TrimRight(base, "/") + below
			}
		}
		c := &oai.Client{Fetch: x.o.Fetch, Base: base}
		var repo oai.Repository
		err := x.persist(ctx, func() (err error) { repo, err = c.Identify(ctx); return err })
		status := (*fetch.StatusError)(nil)
		switch {
		case err == nil:
			x.state.Base, x.state.Repository, x.state.Day = base, clip(repo.Name), repo.Day
			x.state.NoDeleted = repo.Deleted != "persistent"
			return c, nil
		case errors.Is(err, oai.ErrProtocol), errors.As(err, &status) && !status.Busy() && status.Code < 500:
			if first == nil {
				first = err
			}
			if strings.Contains(x.source.URL, "?") {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("found no OAI-PMH interface at the address or at the usual paths below it: %w", first)
}

func clip(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), 200)])
}

// format returns the metadata format to request.
func (x *run) format(ctx context.Context, c *oai.Client) (string, error) {
	if x.source.Format != "" {
		return x.source.Format, nil
	}
	var have []string
	err := x.persist(ctx, func() (err error) { have, err = c.Formats(ctx); return err })
	if refused := (*oai.Error)(nil); err != nil && !errors.As(err, &refused) {
		return "", err
	}
	for _, f := range formats {
		if slices.Contains(have, f) {
			return f, nil
		}
	}
	return "oai_dc", nil // every repository has this format (section 2.5)
}

// from returns the beginning of the period that the run lists, in the repository's date format.
func (x *run) from() string {
	if x.state.From == "" {
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, x.state.From)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, x.state.From); err != nil {
			return "" // the repository's clock cannot be read, so list everything
		}
	}
	at = at.Add(-overlap).UTC()
	if x.state.Day {
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02T15:04:05Z")
}

// persist repeats f while the repository is busy or fails, for as long as a run is allowed to wait.
func (x *run) persist(ctx context.Context, f func() error) error {
	waited := time.Duration(0)
	for attempt := 1; ; attempt++ {
		err := f()
		wait, again := pauseAfter(err, attempt)
		switch {
		case err == nil || ctx.Err() != nil || !again:
			return err
		case wait > longestWait || waited > longestWait:
			return &later{max(wait, time.Minute), err}
		case attempt >= maxAttempts:
			return err
		}
		waited += wait
		if err := x.o.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// pauseAfter returns the pause after an error, and whether a retry can help.
func pauseAfter(err error, attempt int) (time.Duration, bool) {
	pause := time.Second << min(2*attempt-2, 6) // 1, 4, 16, 64 s
	status, refused := (*fetch.StatusError)(nil), (*oai.Error)(nil)
	switch {
	case errors.As(err, &status) && status.Busy():
		if status.After > 0 {
			pause = status.After
		}
		return pause, true
	case errors.As(err, &status):
		return pause, status.Code >= 500 || status.Code == 408
	case errors.As(err, &refused), errors.Is(err, oai.ErrProtocol), errors.Is(err, concordat.ErrInvalid), errors.Is(err, fetch.ErrPrivate),
		errors.Is(err, fetch.ErrRobots), errors.Is(err, fetch.ErrLarge):
		return 0, false
	}
	return pause, true // a network failure or a truncated answer
}

// merge converts the records of a page to the form in which they are stored. It only marks known, unchanged records as seen.
func (x *run) merge(ctx context.Context, listed []oai.Record, base string) ([]store.HarvestRecord, error) {
	ids := make([]string, len(listed))
	for i := range listed {
		digest := sha256.Sum256(listed[i].Raw)
		if listed[i].ID = cleanID(listed[i].ID); listed[i].ID == "" {
			listed[i].ID = "unnamed-" + hex.EncodeToString(digest[:8])
		}
		ids[i] = listed[i].ID
	}
	known, err := x.o.Store.Harvest.HarvestRecords(ctx, x.source.ID, ids)
	if err != nil {
		return nil, err
	}
	out := make([]store.HarvestRecord, 0, len(listed))
	for _, r := range listed {
		digest := sha256.Sum256(r.Raw)
		seen := seenRecord{ID: r.ID, Stamp: r.Stamp, Digest: hex.EncodeToString(digest[:16]), Deleted: r.Deleted, Err: r.Err}
		if r.Err == nil && !r.Deleted {
			seen.Description = func() oai.Description {
				d := oai.Describe(r, base, x.o.Now())
				d.Work.Repository = x.state.Repository
				return d
			}
		}
		old, ok := known[r.ID]
		n := x.mergeOne(old, ok, seen)
		known[r.ID] = n
		out = append(out, n)
	}
	return out, nil
}

// cleanID removes characters that document names cannot contain from an identifier.
func cleanID(id string) string {
	id = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, id)
	return concordat.ShortName(strings.TrimSpace(id))
}

// seenRecord is a record as listed.
type seenRecord struct {
	ID, Stamp, Digest string
	Deleted           bool
	Err               error
	Description       func() oai.Description // set if the record is neither deleted nor faulty
}

// mergeOne converts a record to the stored form, based on the known record if there is one.
func (x *run) mergeOne(old store.HarvestRecord, known bool, seen seenRecord) store.HarvestRecord {
	leaving := old.State == store.RecordWithdrawn || old.State == store.RecordWithdrawing
	if known && old.Stamp == seen.Stamp && old.Digest == seen.Digest && leaving == seen.Deleted {
		old.Run = x.state.Run
		return old
	}
	n := store.HarvestRecord{ID: seen.ID, Stamp: seen.Stamp, Digest: seen.Digest, Documents: old.Documents, Work: old.Work,
		Run:     x.state.Run,
		Changed: x.o.Now()}
	switch {
	case seen.Err != nil: // the texts in the library remain
		n.State, n.Detail = store.RecordFailed, "the record cannot be read: "+seen.Err.Error()
	case seen.Deleted:
		n.State = store.RecordWithdrawn
	default:
		d := seen.Description()
		n.Work, n.Files = d.Work, d.Files
		switch {
		case d.Access != oai.Open:
			n.State, n.Detail, n.Due = closedBy(d.Access, d.Work.Embargo)
		case len(d.Files) == 0:
			n.State, n.Detail = store.RecordTextless, "the record does not lead to a text"
		default:
			n.State = store.RecordWaiting
		}
	}
	if len(n.Documents) > 0 && slices.Contains([]store.HarvestRecordState{store.RecordWithdrawn, store.RecordEmbargoed, store.RecordClosed},
		n.State) {
		n.State = store.RecordWithdrawing
	}
	return n
}

// closedBy returns the state of a record whose text may not be read, with the reason and, if the repository states it, the end of the
// restriction.
func closedBy(access oai.Access, embargo concordat.Date) (store.HarvestRecordState, string, time.Time) {
	switch {
	case access == oai.Closed:
		return store.RecordClosed, "the repository says that the text is not openly accessible", time.Time{}
	case embargo == "":
		return store.RecordClosed, "under embargo until a date that the repository does not give", time.Time{}
	}
	return store.RecordEmbargoed, "", dayOf(embargo)
}

// dayOf returns the first instant at which a date has begun everywhere or, for a year or a month, at which it has ended everywhere.
func dayOf(d concordat.Date) time.Time {
	for i, form := range []string{"2006", "2006-01", time.DateOnly} {
		at, err := time.Parse(form, string(d))
		if err != nil {
			continue
		}
		switch i {
		case 0:
			at = at.AddDate(1, 0, 0)
		case 1:
			at = at.AddDate(0, 1, 0)
		}
		return at.Add(12 * time.Hour) // a day begins last in the zone twelve hours behind UTC
	}
	return time.Time{}
}

// readAll reads the body of an answer.
func readAll(r *fetch.Response) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	return b, errors.Join(err, r.Body.Close())
}
