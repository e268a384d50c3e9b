package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// quotaWindow is the time within which quotas count.
const quotaWindow = 24 * time.Hour

// Kinds of what quotas count.
const (
	quotaDocuments  = "documents"
	quotaBytes      = "bytes"
	quotaCharacters = "characters"
	quotaAccounts   = "accounts"
)

// charges are what a handing-in costs an account, and an address where the account is public.
func (w *Web) charges(a store.Account, address string, documents, bytes int64) (out []store.Charge) {
	q := w.quotaOf(a)
	add := func(who, kind string, n int64, most int64) {
		if most > 0 {
			out = append(out, store.Charge{Who: who, Kind: kind, Amount: n, Most: most, Within: quotaWindow})
		}
	}
	whose := []string{"account/" + a.Name}
	if a.Public && address != "" {
		whose = append(whose, "address/"+address)
	}
	for _, who := range whose {
		add(who, quotaDocuments, documents, int64(q.Documents))
		add(who, quotaBytes, bytes, q.Bytes)
	}
	if q.Characters > 0 {
		add(whose[0], quotaCharacters, 0, int64(q.Characters)) // known once the text is read; here only: is any left?
	}
	return out
}

// mayUpload refuses somebody whose quota is used up before anything is read, and bounds what is read
// by what a day allows.
func (w *Web) mayUpload(rw http.ResponseWriter, r *http.Request, v *visitor) error {
	if err := w.o.Store.Charge(r.Context(), w.charges(v.Account, v.address, 0, 0)...); err != nil {
		return err
	}
	if err := w.room(r.Context(), v.Account, 1); err != nil {
		return err
	}
	if q := w.quotaOf(v.Account); q.Bytes > 0 {
		r.Body = http.MaxBytesReader(rw, r.Body, q.Bytes+mostForm)
	}
	return nil
}

// readUpload reads what somebody hands in, if the quota leaves anything. What is read and comes to nothing costs
// its bytes all the same: it lies on the disk until it is tidied away.
func (w *Web) readUpload(rw http.ResponseWriter, r *http.Request, v *visitor) (*upload, error) {
	if err := w.mayUpload(rw, r, v); err != nil {
		return nil, err
	}
	u, err := w.read(rw, r)
	if err != nil {
		w.lose(r.Context(), v, u)
		return nil, err
	}
	return u, nil
}

// lose charges for files that came to nothing.
func (w *Web) lose(ctx context.Context, v *visitor, u *upload) {
	if u == nil || u.bytes == 0 {
		return
	}
	var out []store.Charge
	for _, c := range w.charges(v.Account, v.address, 0, u.bytes) {
		if c.Kind == quotaBytes {
			c.Most = -1
			out = append(out, c)
		}
	}
	if err := w.o.Store.Charge(context.WithoutCancel(ctx), out...); err != nil {
		w.o.Logger.Error("quota", "error", err)
	}
}

// room refuses an account that has as many checks open as it may, with n more.
func (w *Web) room(ctx context.Context, a store.Account, n int) error {
	q := w.quotaOf(a)
	if q.Open <= 0 && !a.Public {
		return nil
	}
	own, public, err := w.o.Store.OpenTasks(ctx, a.Name)
	switch {
	case err != nil:
		return err
	case q.Open > 0 && own+n > q.Open:
		return &tooMany{"error.open", time.Minute}
	case a.Public && public+n > w.o.Policy.PublicQueue:
		return &tooMany{"error.crowd", time.Minute}
	}
	return nil
}

// spend charges a visitor for documents that are about to be handed in, and checks that there is room
// in the queue. done is to be called once they are in it.
func (w *Web) spend(ctx context.Context, v *visitor, jobs []site.Job, bytes int64) (done func(), err error) {
	q := w.quotaOf(v.Account)
	done = func() {}
	if q.Open > 0 || v.Public {
		w.handing.Lock() // two requests of one account must not both see the last free place
		done = w.handing.Unlock
		if err := w.room(ctx, v.Account, len(jobs)); err != nil {
			done()
			return nil, err
		}
	}
	if err := w.o.Store.Charge(ctx, w.charges(v.Account, v.address, int64(len(jobs)), bytes)...); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// Admit charges the account of a task for what was read: characters of a text, and the documents of an
// archive beyond the one that was charged when it came. It is for site.QueueOptions.
func (w *Web) Admit(ctx context.Context, t store.Task, _ site.Job, items []site.Item) error {
	a, err := w.o.Store.Account(ctx, t.Owner)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil // the command line
	}
	if err != nil {
		return err
	}
	q := w.quotaOf(a)
	if len(items) > 1 {
		if q.Open > 0 && len(items) > q.Open {
			return fmt.Errorf("the archive holds %d documents: %w: at most %d checks at once", len(items), concordat.ErrRefused, q.Open)
		}
		err = w.o.Store.Charge(ctx, w.charges(a, "", int64(len(items)-1), 0)...)
	} else if q.Characters > 0 {
		var n int64
		for _, i := range items {
			n += int64(utf8.RuneCountInString(i.Text))
		}
		err = w.o.Store.Charge(ctx, store.Charge{Who: "account/" + a.Name, Kind: quotaCharacters, Amount: n, Most: int64(q.Characters),
			Within: quotaWindow})
	}
	return plainQuota(err)
}

// plainQuota makes the error of a quota readable for whoever finds it as the cause of a check.
func plainQuota(err error) error {
	var q *store.QuotaUsed
	if !errors.As(err, &q) {
		return err
	}
	return fmt.Errorf("%w: %s", concordat.ErrRefused, quotaWords(english, q))
}

// quotaWords says which quota is used up and when it frees.
func quotaWords(l language, q *store.QuotaUsed) string {
	kind := l.say("quota." + q.Kind)
	if q.Retry.IsZero() {
		return l.say("quota.never", kind, int(q.Amount), int(q.Most))
	}
	return l.say("quota.used", kind, int(q.Left), int(q.Most), q.Retry.UTC().Format("2006-01-02 15:04 UTC"))
}

// limits turns an error into a status of 429 with when to come back; nil: it is none of a limit.
func limits(l language, now time.Time, err error) (key, detail string, retry time.Duration, ok bool) {
	var many *tooMany
	var used *store.QuotaUsed
	switch {
	case errors.As(err, &used):
		retry = time.Hour
		if !used.Retry.IsZero() {
			retry = used.Retry.Sub(now)
		}
		return "error.quota", quotaWords(l, used), retry, true
	case errors.As(err, &many):
		return many.key, "", many.retry, true
	}
	return "", "", 0, false
}
