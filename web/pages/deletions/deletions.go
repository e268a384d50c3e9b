// Package deletions serves the pages for permanent deletion and the list of past deletions, and deletes for other pages and the API. Start
// with New.
package deletions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/site/retain"
	"concordat/store"
	"concordat/web/pages"
)

// Checks finds the checks that are to be deleted and stops them. It is safe for concurrent use.
type Checks interface {
	// Visible returns a check that the visitor may see.
	Visible(ctx context.Context, v *pages.Visitor, id concordat.TaskID) (store.Task, error)
	CancelTask(ctx context.Context, v *pages.Visitor, t store.Task) error
}

// Reports keeps recently read reports. It is safe for concurrent use.
type Reports interface {
	// Forget drops a deleted check from the cache.
	Forget(id concordat.TaskID)
}

// Batches finds the batches that are to be deleted and stops them. It is safe for concurrent use.
type Batches interface {
	// VisibleBatch returns a batch that the visitor may see.
	VisibleBatch(ctx context.Context, v *pages.Visitor, id string) (store.Batch, error)
	// Rest stops a batch unless it has ended, and returns once no process is working on it.
	Rest(ctx context.Context, v *pages.Visitor, b store.Batch) error
}

// Options configures the pages.
type Options struct {
	Store   *store.DB
	Eraser  *retain.Eraser // if nil, the pages do not delete
	Checks  Checks
	Reports Reports
	Batches Batches
}

// Deletions deletes permanently and lists past deletions.
type Deletions struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Deletions {
	w := Deletions{frame, o}
	frame.AddPage("POST /checks/{id}/delete", pages.Officers, w.eraseCheck)
	frame.AddPage("POST /batches/{id}/delete", pages.Officers, w.eraseBatch)
	frame.AddPage("GET /deletions", pages.Overseers, w.deletionsPage)
	frame.AddPage("POST /deletions", pages.Administrators, w.eraseDocument)
	frame.AddPage("GET /deletions/{id}", pages.Overseers, w.receiptFile)
	return w
}

const deletionsOnPage = 100

type deletionRow struct {
	store.Erasure
	retain.Receipt
}

type deletionsPage struct {
	Rows      []deletionRow
	Older     int64
	MayDelete bool
	Libraries []store.Library
	People    pages.Names
}

func (w Deletions) deletionsPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the newest deletion
	p := deletionsPage{MayDelete: v.Role == store.RoleAdministrator && w.o.Eraser != nil}
	rows, err := w.o.Store.Retention.Erasures(r.Context(), before, deletionsOnPage)
	for _, e := range rows {
		if err == nil {
			one := deletionRow{Erasure: e}
			if e.Receipt != nil {
				err = json.Unmarshal(e.Receipt, &one.Receipt)
			}
			p.Rows = append(p.Rows, one)
		}
	}
	if err == nil {
		p.Libraries, err = w.o.Store.Catalogue.Libraries(r.Context())
	}
	if err == nil {
		p.People, err = w.frame.Names(r.Context())
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if len(rows) == deletionsOnPage {
		p.Older = rows[len(rows)-1].Seq
	}
	w.frame.Show(rw, r, v, http.StatusOK, "deletions", "title.deletions", p)
}

// receiptFile sends a receipt in its stored form.
func (w Deletions) receiptFile(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	e, err := w.o.Store.Retention.Erasure(r.Context(), r.PathValue("id"))
	if err == nil && e.Receipt == nil {
		err = fmt.Errorf("receipt %s: %w: nothing has been deleted yet", e.ID, concordat.ErrNotFound)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Disposition", `attachment; filename="deletion-`+e.ID+`.json"`)
	_, _ = rw.Write(e.Receipt) // an error means that the browser has disconnected
}

// eraseCheck permanently deletes a check and its report.
func (w Deletions) eraseCheck(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	var receipt *retain.Receipt
	t, err := w.o.Checks.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		receipt, err = w.Erase(r.Context(), v, r.PostForm.Get("reason"), retain.Target{Tasks: []concordat.TaskID{t.ID}})
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/checks?deleted="+url.QueryEscape(receipt.ID), http.StatusSeeOther)
}

// Now describes the deletion identified in a list's address to the visitor who has just requested it.
type Now struct {
	ID    string // ID of its receipt; empty if the visitor has not just deleted anything
	State store.ErasureState
	// MayOpen reports whether the visitor may open the receipt.
	MayOpen bool
}

// Just returns the deletion that the visitor has just requested, if a list's address identifies it.
func Just(r *http.Request, db *store.DB, v *pages.Visitor) (d Now, err error) {
	id := r.URL.Query().Get("deleted")
	if id == "" {
		return d, nil
	}
	e, err := db.Retention.Erasure(r.Context(), id)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && e.Actor != v.Name {
		return d, nil // an address alone proves nothing
	}
	return Now{ID: e.ID, State: e.State, MayOpen: slices.Contains(pages.Overseers, v.Role)}, err
}

// batchAtWork returns the batch of a check if the batch has not ended, and otherwise "".
func (w Deletions) batchAtWork(ctx context.Context, task concordat.TaskID) (string, error) {
	id, _, err := w.o.Store.Batches.BatchOfTask(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return "", nil
	}
	var b store.Batch
	if err == nil {
		b, err = w.o.Store.Batches.Batch(ctx, id)
	}
	if err != nil || b.State.Ended() {
		return "", err
	}
	return id, nil
}

// restBatch ensures that no process is working on a batch before it is deleted.
func (w Deletions) restBatch(ctx context.Context, v *pages.Visitor, id string) error {
	b, err := w.o.Batches.VisibleBatch(ctx, v, id)
	if err != nil {
		return err
	}
	return w.o.Batches.Rest(ctx, v, b)
}

// eraseBatch permanently deletes a batch and the checks of its documents.
func (w Deletions) eraseBatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	var receipt *retain.Receipt
	b, err := w.o.Batches.VisibleBatch(r.Context(), v, r.PathValue("id"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		receipt, err = w.Erase(r.Context(), v, r.PostForm.Get("reason"), retain.Target{Batches: []string{b.ID}})
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/batches?deleted="+url.QueryEscape(receipt.ID), http.StatusSeeOther)
}

// eraseDocument permanently deletes a document of a library.
func (w Deletions) eraseDocument(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	lib, id := concordat.LibraryID(r.PostForm.Get("library")), concordat.DocumentID(strings.TrimSpace(r.PostForm.Get("document")))
	if err == nil {
		_, err = w.o.Store.Catalogue.DocumentRow(r.Context(), lib, id)
	}
	if err == nil {
		_, err = w.Erase(r.Context(), v, r.PostForm.Get("reason"), retain.Target{Library: lib, Documents: []concordat.DocumentID{id}})
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/deletions", http.StatusSeeOther)
}

// errNoEraser is returned on a site whose pages cannot delete.
var errNoEraser = fmt.Errorf("deletion: %w: not possible in this process", concordat.ErrUnavailable)

// EraseSome deletes documents of a library on behalf of an officer. Queries stop finding them immediately; their bytes are removed soon
// afterwards.
func (w Deletions) EraseSome(ctx context.Context, v *pages.Visitor, reason string, lib concordat.LibraryID,
	ids ...concordat.DocumentID) error {
	if w.o.Eraser == nil {
		return errNoEraser
	}
	reason, err := pages.Reason(reason, true)
	if err == nil {
		var notes []store.AuditNote
		for _, id := range ids {
			notes = append(notes, v.Note("document_deleted", map[string]any{"library": lib, "document": id}))
		}
		_, err = w.o.Eraser.Begin(ctx, v.Name, reason, retain.Target{Library: lib, Documents: ids}, notes...)
	}
	return err
}

// Erase deletes data on behalf of an authorised visitor. Officers can delete checks, and administrators can delete documents.
func (w Deletions) Erase(ctx context.Context, v *pages.Visitor, reason string, t retain.Target,
	notes ...store.AuditNote) (*retain.Receipt, error) {
	switch {
	case w.o.Eraser == nil:
		return nil, errNoEraser
	case !v.MayReview(), t.Library != "" && v.Role != store.RoleAdministrator:
		return nil, fmt.Errorf("deletion as %s: %w", v.Role, concordat.ErrRefused)
	}
	reason, err := pages.Reason(reason, true)
	if err != nil {
		return nil, err
	}
	for _, id := range t.Tasks {
		task, err := w.o.Checks.Visible(ctx, v, id)
		if err != nil {
			return nil, err
		}
		if b, err := w.batchAtWork(ctx, id); err != nil {
			return nil, err
		} else if b != "" {
			return nil, fmt.Errorf("check %s belongs to batch %s, which has not ended: %w", id, b, concordat.ErrChanged)
		}
		if !task.State.Ended() {
			if err := w.o.Checks.CancelTask(ctx, v, task); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range t.Batches {
		if err := w.restBatch(ctx, v, id); err != nil {
			return nil, err
		}
	}
	r, err := w.o.Eraser.Erase(ctx, v.Name, reason, t, notes...)
	for _, id := range t.Tasks {
		w.o.Reports.Forget(id)
	}
	if errors.Is(err, concordat.ErrUnavailable) && r != nil && !r.Deleted.IsZero() {
		return r, nil // queries no longer find it; an absent machine removes the bytes when it returns, and the receipt then records this
	}
	return r, err
}
