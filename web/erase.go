package web

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

// eraseRoutes adds the pages for permanent deletion and the list of past deletions.
func (w adminPages) eraseRoutes() {
	w.AddPage("POST /checks/{id}/delete", pages.Officers, w.eraseCheck)
	w.AddPage("POST /batches/{id}/delete", pages.Officers, w.eraseBatch)
	w.AddPage("GET /deletions", pages.Overseers, w.deletionsPage)
	w.AddPage("POST /deletions", pages.Administrators, w.eraseDocument)
	w.AddPage("GET /deletions/{id}", pages.Overseers, w.receiptFile)
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

func (w adminPages) deletionsPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
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
		p.People, err = w.Names(r.Context())
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	if len(rows) == deletionsOnPage {
		p.Older = rows[len(rows)-1].Seq
	}
	w.Show(rw, r, v, http.StatusOK, "deletions", "title.deletions", p)
}

// receiptFile sends a receipt in its stored form.
func (w adminPages) receiptFile(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	e, err := w.o.Store.Retention.Erasure(r.Context(), r.PathValue("id"))
	if err == nil && e.Receipt == nil {
		err = fmt.Errorf("receipt %s: %w: nothing was deleted yet", e.ID, concordat.ErrNotFound)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Disposition", `attachment; filename="deletion-`+e.ID+`.json"`)
	_, _ = rw.Write(e.Receipt) // an error means that the browser has disconnected
}

// eraseCheck permanently deletes a check and its report.
func (w adminPages) eraseCheck(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	var receipt *retain.Receipt
	t, err := w.task(r, v)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		receipt, err = w.Erase(r.Context(), v, r.PostForm.Get("reason"), retain.Target{Tasks: []concordat.TaskID{t.ID}})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/checks?deleted="+url.QueryEscape(receipt.ID), http.StatusSeeOther)
}

// deletedNow describes the deletion identified in a list's address to the visitor who has just requested it.
type deletedNow struct {
	ID    string // ID of its receipt; empty if the visitor has not just deleted anything
	State store.ErasureState
	// MayOpen reports whether the visitor may open the receipt.
	MayOpen bool
}

func justDeleted(r *http.Request, w *Web, v *Visitor) (d deletedNow, err error) {
	id := r.URL.Query().Get("deleted")
	if id == "" {
		return d, nil
	}
	e, err := w.o.Store.Retention.Erasure(r.Context(), id)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && e.Actor != v.Name {
		return d, nil // an address alone proves nothing
	}
	return deletedNow{ID: e.ID, State: e.State, MayOpen: slices.Contains(pages.Overseers, v.Role)}, err
}

// batchAtWork returns the batch of a check if the batch has not ended, and otherwise "".
func (w adminPages) batchAtWork(ctx context.Context, task concordat.TaskID) (string, error) {
	id, _, err := w.o.Store.Batches.BatchOfTask(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return "", nil
	}
	var b store.Batch
	if err == nil {
		b, err = w.o.Store.Batches.Batch(ctx, id)
	}
	if err != nil || Ended(b.State) {
		return "", err
	}
	return id, nil
}

// restBatch ensures that no process is working on a batch before it is deleted.
func (w adminPages) restBatch(ctx context.Context, v *Visitor, id string) error {
	b, err := w.Batches.VisibleBatch(ctx, v, id)
	if err == nil && !Ended(b.State) {
		err = w.Batches.StopBatch(ctx, v, b)
	}
	if err != nil || w.o.Batches == nil {
		return err
	}
	return w.o.Batches.Await(ctx, id)
}

// eraseBatch permanently deletes a batch and the checks of its documents.
func (w adminPages) eraseBatch(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	var receipt *retain.Receipt
	b, err := w.Batches.VisibleBatch(r.Context(), v, r.PathValue("id"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		receipt, err = w.Erase(r.Context(), v, r.PostForm.Get("reason"), retain.Target{Batches: []string{b.ID}})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/batches?deleted="+url.QueryEscape(receipt.ID), http.StatusSeeOther)
}

// eraseDocument permanently deletes a document of a library.
func (w adminPages) eraseDocument(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := pages.ParseForm(rw, r)
	lib, id := concordat.LibraryID(r.PostForm.Get("library")), concordat.DocumentID(strings.TrimSpace(r.PostForm.Get("document")))
	if err == nil {
		_, err = w.o.Store.Catalogue.DocumentRow(r.Context(), lib, id)
	}
	if err == nil {
		_, err = w.Erase(r.Context(), v, r.PostForm.Get("reason"), retain.Target{Library: lib, Documents: []concordat.DocumentID{id}})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/deletions", http.StatusSeeOther)
}

// errNoEraser is returned on a site whose pages cannot delete.
var errNoEraser = fmt.Errorf("deletion: %w: not here", concordat.ErrUnavailable)

// eraseSome deletes documents of a library on behalf of an officer. Queries stop finding them immediately; their bytes are removed soon
// afterwards.
func (w adminPages) eraseSome(ctx context.Context, v *Visitor, reason string, lib concordat.LibraryID,
	ids ...concordat.DocumentID) error {
	if w.o.Eraser == nil {
		return errNoEraser
	}
	reason, err := checkReason(reason, true)
	if err == nil {
		var notes []store.AuditNote
		for _, id := range ids {
			notes = append(notes, v.Note("document_deleted", map[string]any{"library": lib, "document": id}))
		}
		_, err = w.o.Eraser.Begin(ctx, v.Name, reason, retain.Target{Library: lib, Documents: ids}, notes...)
	}
	return err
}

// Erase deletes data on behalf of an authorised visitor: officers can delete checks, and administrators can delete documents.
func (w adminPages) Erase(ctx context.Context, v *Visitor, reason string, t retain.Target,
	notes ...store.AuditNote) (*retain.Receipt, error) {
	switch {
	case w.o.Eraser == nil:
		return nil, errNoEraser
	case !v.MayReview(), t.Library != "" && v.Role != store.RoleAdministrator:
		return nil, fmt.Errorf("deletion as %s: %w", v.Role, concordat.ErrRefused)
	}
	reason, err := checkReason(reason, true)
	if err != nil {
		return nil, err
	}
	for _, id := range t.Tasks {
		task, err := w.Visible(ctx, v, id)
		if err != nil {
			return nil, err
		}
		if b, err := w.batchAtWork(ctx, id); err != nil {
			return nil, err
		} else if b != "" {
			return nil, fmt.Errorf("check %s is of batch %s, which has not ended: %w", id, b, concordat.ErrChanged)
		}
		if !Ended(task.State) {
			if err := w.Checks.CancelTask(ctx, v, task); err != nil {
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
		w.cache.drop(id)
	}
	if errors.Is(err, concordat.ErrUnavailable) && r != nil && !r.Deleted.IsZero() {
		return r, nil // queries no longer find it; an absent machine removes the bytes when it returns, and the receipt then records this
	}
	return r, err
}
