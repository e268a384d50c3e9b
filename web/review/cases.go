package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"concordat"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/libraries"
)

// Reviewers returns the accounts to which checks can be assigned for review.
func (w *Reviews) Reviewers(ctx context.Context) (out []string, err error) {
	all, err := w.o.Store.People.Accounts(ctx)
	for _, a := range all {
		if !a.Disabled && (&pages.Visitor{Account: a}).MayReview() {
			out = append(out, a.Name)
		}
	}
	return out, err
}

// CaseNote returns the fields that a form sets: either the reviewer or the due date.
func (w *Reviews) CaseNote(ctx context.Context, v *pages.Visitor, f url.Values) (store.Review, error) {
	n := store.Review{At: w.o.Now(), By: v.Name}
	switch f.Get("action") {
	case "assign":
		n.Kind, n.Text = store.ReviewAssign, f.Get("assignee")
		all, err := w.Reviewers(ctx)
		if err != nil {
			return n, err
		}
		if n.Text != "" && !slices.Contains(all, n.Text) {
			return n, message.Invalid("cases.nobody", n.Text)
		}
	case "due":
		n.Kind, n.Text = store.ReviewDue, f.Get("due")
		if _, err := time.Parse(time.DateOnly, n.Text); n.Text != "" && err != nil {
			return n, message.Invalid("wrong.date", n.Text)
		}
	default:
		return n, fmt.Errorf("action %q: %w", f.Get("action"), concordat.ErrInvalid)
	}
	var err error
	n.Data, err = json.Marshal(n.Text)
	return n, err
}

// AddingRule states when the submission of a case is added to a library, so that later submissions are compared with it.
type AddingRule string

// The rules for adding submissions.
const (
	AddNever        AddingRule = "never"
	AddOnRequest    AddingRule = "ask"     // when an officer requests it
	AddAfterVerdict AddingRule = "verdict" // after every verdict, and when an officer requests it
)

// Adding is the site's rule, with the default library for added submissions. The library is created when the first submission is added.
type Adding struct {
	Rule    AddingRule
	Library concordat.LibraryID
}

// allowed reports whether submissions may be added.
func (a Adding) allowed() bool { return a.Rule == AddOnRequest || a.Rule == AddAfterVerdict }

// addedCase is a review entry that records the library to which a case's submission was added.
type addedCase struct {
	Library concordat.LibraryID `json:"library"`        // empty if it is in no library
	Task    concordat.TaskID    `json:"task,omitempty"` // task that adds it
}

// CaseState is the state of adding a case's submission to a library.
type CaseState string

// The states of an addition.
const (
	CaseOut     CaseState = "out" // it is in no library
	CaseWaiting CaseState = "waiting"
	CaseAdded   CaseState = "added"
	CaseFailed  CaseState = "failed"
)

// CaseLibrary describes the library that contains the submission of a case.
type CaseLibrary struct {
	State    CaseState
	Library  concordat.LibraryID // empty for none
	Title    string              // title of the library
	Document concordat.DocumentID
	Cause    store.Cause // why the addition failed
	// MayAdd reports whether the site's rule allows the submission to be added and its text is kept.
	MayAdd bool
	// Choices are the libraries to which the submission may be added, the default first.
	Choices []store.Library
}

// caseOrigin returns the check that began a case, which is t itself unless t is a recheck.
func (w *Reviews) caseOrigin(ctx context.Context, t store.Task) (concordat.TaskID, error) {
	var j site.Job
	if len(t.Request) > 0 {
		if err := json.Unmarshal(t.Request, &j); err != nil {
			return "", fmt.Errorf("task %s: %w: %v", t.ID, concordat.ErrCorrupt, err)
		}
	}
	if j.Again != "" {
		return j.Again, nil
	}
	id, member, err := w.o.Store.Batches.BatchOfTask(ctx, t.ID)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return t.ID, nil
	case err != nil:
		return "", err
	}
	return batch.TaskOf(id, member, 1), nil
}

// CaseLibrary returns the library that contains a case's submission; t can be any check of the case.
func (w *Reviews) CaseLibrary(ctx context.Context, t store.Task, now *Review) (CaseLibrary, error) {
	out := CaseLibrary{State: CaseOut}
	origin, err := w.caseOrigin(ctx, t)
	if err != nil {
		return out, err
	}
	out.Document = site.CaseDocument(origin)
	all, err := w.o.Store.Catalogue.Libraries(ctx)
	if err != nil {
		return out, err
	}
	titles := map[concordat.LibraryID]string{}
	for _, l := range all {
		titles[l.ID] = l.Title
	}
	if _, there := titles[now.Added.Library]; there { // absent if there is no library or it was deleted
		if err := w.caseProgress(ctx, now.Added, &out); err != nil {
			return out, err
		}
	}
	if out.State == CaseOut { // another check of the case may have added it
		in, err := w.o.Site.CaseDocuments(ctx, origin, all)
		if err != nil {
			return out, err
		}
		if len(in) > 0 {
			out.State, out.Library = CaseAdded, in[0].Library
		}
	} else {
		out.Library = now.Added.Library
	}
	out.Title = titles[out.Library]
	adding := w.o.Current.Adding()
	if out.State == CaseAdded || out.State == CaseWaiting || !adding.allowed() {
		return out, nil
	}
	if out.MayAdd, err = w.o.Reports.HasText(ctx, t.ID); err != nil || !out.MayAdd {
		return out, err
	}
	own := store.Library{ID: adding.Library, Title: titles[adding.Library]}
	out.Choices = append([]store.Library{own}, slices.DeleteFunc(all, func(l store.Library) bool { return l.ID == own.ID })...)
	return out, nil
}

// caseProgress sets the state of an addition.
func (w *Reviews) caseProgress(ctx context.Context, added addedCase, out *CaseLibrary) error {
	_, err := w.o.Store.Catalogue.DocumentRow(ctx, added.Library, out.Document)
	if err == nil {
		out.State = CaseAdded
		return nil
	}
	if !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	t, err := w.o.Store.Checks.Task(ctx, added.Task)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !t.State.Ended():
		out.State = CaseWaiting
	case t.State == concordat.TaskFailed:
		out.State, out.Cause = CaseFailed, t.Cause
	}
	return nil // the submission was added and has since been deleted
}

// AddCase adds the submission of a case to a library, by default the site's. The queue does the work.
func (w *Reviews) AddCase(ctx context.Context, v *pages.Visitor, t store.Task, lib concordat.LibraryID) error {
	adding := w.o.Current.Adding()
	if !adding.allowed() {
		return message.Refused("case.never")
	}
	now, err := w.Of(ctx, t)
	var in CaseLibrary
	if err == nil {
		in, err = w.CaseLibrary(ctx, t, now)
	}
	if err != nil {
		return err
	}
	lib = cmp.Or(lib, in.Library, adding.Library)
	there := in.State == CaseAdded || in.State == CaseWaiting
	switch {
	case there && in.Library == lib:
		return nil
	case there:
		return message.Conflict("case.elsewhere", in.Library)
	case !in.MayAdd:
		return message.Conflict("case.notext")
	}
	return w.enqueueCase(ctx, v, t, lib, func(*store.DB) error { return nil })
}

// enqueueCase queues a task that adds the submission of a case to a library. In the same transaction, it first calls the function also.
func (w *Reviews) enqueueCase(ctx context.Context, v *pages.Visitor, t store.Task, lib concordat.LibraryID,
	also func(*store.DB) error) error {
	origin, err := w.caseOrigin(ctx, t)
	if err != nil {
		return err
	}
	j := site.Job{Name: t.Title, Title: t.Title, Into: lib, From: t.ID, Again: origin}
	_, err = w.o.Queue.SubmitAll(ctx, v.Name, libraries.Additions(lib), []site.Job{j}, func(tx *store.DB, ids []concordat.TaskID) error {
		if err := also(tx); err != nil {
			return err
		}
		_, err := tx.Catalogue.Library(ctx, lib)
		missing := errors.Is(err, concordat.ErrNotFound)
		switch {
		case missing && lib != w.o.Current.Adding().Library:
			return message.Absent("wrong.library", lib)
		case err != nil && !missing:
			return err
		case missing:
			l := store.Library{ID: lib, Created: w.o.Now()}
			if err := tx.Catalogue.CreateLibrary(ctx, l); err != nil {
				return err
			}
			if err := tx.Audit.Note(ctx, v.Name, "library_made", map[string]any{"library": lib}); err != nil {
				return err
			}
		}
		return w.noteCase(ctx, tx, v, t.ID, addedCase{lib, ids[0]}, "submission_added", map[string]any{"task": t.ID, "library": lib,
			"document": site.CaseDocument(origin)})
	})
	return err
}

// noteCase records the library that contains a case's submission, with an audit entry.
func (w *Reviews) noteCase(ctx context.Context, tx *store.DB, v *pages.Visitor, id concordat.TaskID, in addedCase, action string,
	detail map[string]any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if _, err := tx.Checks.AppendReview(ctx, id, store.Review{At: w.o.Now(), By: v.Name, Kind: store.ReviewLibrary, Text: string(in.Library),
		Data: data}); err != nil {
		return err
	}
	return tx.Audit.Note(ctx, v.Name, action, detail)
}

// removedCase is the reason stated in the receipt when a document is removed on its case's page.
const removedCase = "removed from the library at its case"

// RemoveCase removes the submission of a case from the library to which it was added.
func (w *Reviews) RemoveCase(ctx context.Context, v *pages.Visitor, t store.Task) error {
	now, err := w.Of(ctx, t)
	var in CaseLibrary
	if err == nil {
		in, err = w.CaseLibrary(ctx, t, now)
	}
	if err != nil {
		return err
	}
	switch in.State {
	case CaseOut:
		return fmt.Errorf("document of check %s: %w: the document is not in a library", t.ID, concordat.ErrNotFound)
	case CaseWaiting:
		err = w.cancelCase(ctx, v, now.Added, in.Document)
	case CaseAdded:
		err = w.o.Deletions.EraseSome(ctx, v, removedCase, in.Library, in.Document)
	}
	if err != nil {
		return err
	}
	return w.o.Store.Atomic(ctx, func(tx *store.DB) error {
		return w.noteCase(ctx, tx, v, t.ID, addedCase{}, "submission_removed", map[string]any{"task": t.ID, "library": in.Library,
			"document": in.Document})
	})
}

// cancelCase cancels a waiting addition. It does not cancel a running addition, since the document may already be in the library.
func (w *Reviews) cancelCase(ctx context.Context, v *pages.Visitor, added addedCase, document concordat.DocumentID) error {
	running := message.Conflict("case.running")
	t, err := w.o.Store.Checks.Task(ctx, added.Task)
	if err == nil && t.State != concordat.TaskQueued {
		return running
	}
	if err == nil {
		err = w.o.Queue.Cancel(ctx, added.Task, store.Cause{Code: store.CauseCancelled, Who: v.Name})
	}
	if err != nil {
		return err
	}
	// A worker may claim the task at the same time.
	if t, err = w.o.Store.Checks.Task(ctx, added.Task); err == nil && t.Attempts > 0 {
		return running
	}
	return err
}
