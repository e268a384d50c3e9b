package intake

import (
	"context"
	"net/http"
	"unicode/utf8"

	"concordat/site"
	"concordat/store"
	"concordat/web/pages"
)

// mayUpload rejects a visitor whose quota is exhausted, before anything is read; otherwise it limits the request body to the daily limit.
func (w Intake) mayUpload(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) error {
	if err := w.o.People.MayUpload(r.Context(), v.Account, v.Address); err != nil {
		return err
	}
	if q := w.o.People.Quota(v.Account); q.Bytes > 0 {
		r.Body = http.MaxBytesReader(rw, r.Body, q.Bytes+pages.MaxForm)
	}
	return nil
}

// ReadUpload reads a submission if the visitor's quota is not exhausted. Files that are read but not used are also charged, since they
// occupy disk space until they are removed.
func (w Intake) ReadUpload(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) (*Upload, error) {
	if err := w.mayUpload(rw, r, v); err != nil {
		return nil, err
	}
	u, err := w.Read(rw, r)
	if err != nil {
		w.Lose(r.Context(), v, u)
		return nil, err
	}
	return u, nil
}

// Lose charges for files that were not used.
func (w Intake) Lose(ctx context.Context, v *pages.Visitor, u *Upload) {
	if u == nil || u.bytes == 0 {
		return
	}
	if err := w.o.People.Lose(context.WithoutCancel(ctx), v.Account, v.Address, u.bytes); err != nil {
		w.o.Logger.Error("quota", "error", err)
	}
}

// Admit charges the account of a task for the bytes that were read. It is intended for site.QueueOptions.
func (w Intake) Admit(ctx context.Context, t store.Task, _ site.Job, items []site.Item) error {
	var n int64
	for _, i := range items {
		n += int64(utf8.RuneCountInString(i.Text))
	}
	return w.o.People.Admit(ctx, t.Owner, len(items), n)
}
