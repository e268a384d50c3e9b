package web

import (
	"context"
	"net/http"
	"unicode/utf8"

	"concordat/site"
	"concordat/store"
	"concordat/web/pages"
)

// mayUpload rejects a visitor whose quota is exhausted, before anything is read; otherwise it limits the request body to the daily limit.
func (w *Web) mayUpload(rw http.ResponseWriter, r *http.Request, v *Visitor) error {
	if err := w.People.MayUpload(r.Context(), v.Account, v.Address); err != nil {
		return err
	}
	if q := w.People.Quota(v.Account); q.Bytes > 0 {
		r.Body = http.MaxBytesReader(rw, r.Body, q.Bytes+pages.MaxForm)
	}
	return nil
}

// ReadUpload reads a submission if the visitor's quota is not exhausted. Files that are read but not used are also charged, since they
// occupy disk space until they are removed.
func (w *Web) ReadUpload(rw http.ResponseWriter, r *http.Request, v *Visitor) (*Upload, error) {
	if err := w.mayUpload(rw, r, v); err != nil {
		return nil, err
	}
	u, err := w.Checks.Read(rw, r)
	if err != nil {
		w.Lose(r.Context(), v, u)
		return nil, err
	}
	return u, nil
}

// Lose charges for files that were not used.
func (w *Web) Lose(ctx context.Context, v *Visitor, u *Upload) {
	if u == nil || u.bytes == 0 {
		return
	}
	if err := w.People.Lose(context.WithoutCancel(ctx), v.Account, v.Address, u.bytes); err != nil {
		w.o.Logger.Error("quota", "error", err)
	}
}

// Admit charges the account of a task for the bytes that were read. It is intended for site.QueueOptions.
func (w *Web) Admit(ctx context.Context, t store.Task, _ site.Job, items []site.Item) error {
	var n int64
	for _, i := range items {
		n += int64(utf8.RuneCountInString(i.Text))
	}
	return w.People.Admit(ctx, t.Owner, len(items), n)
}
