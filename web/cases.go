package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/libraries"
)

// caseFilter selects the listed checks. Its links can be bookmarked and shared.
type caseFilter struct {
	View  string // one of caseViews
	Query string
	Mine  bool // only checks assigned to the visitor
	Order store.TaskOrder
	Least int    // minimum counted share in per cent; 0 for no minimum
	In    string // batch or archive whose checks are listed; empty for the whole list
	From  int    // index of the first row
	// Figures reports whether the visitor may see all reports and can therefore sort and filter by their figures.
	Figures bool
}

// caseOrders are the sort orders of the list, the default first. ownOrders are the sort orders for visitors who may not see all reports
// and therefore cannot sort by their figures.
var (
	caseOrders = []store.TaskOrder{"", store.TasksByShare, store.TasksByFlags, store.TasksByLeads, store.TasksByState, store.TasksByTitle}
	ownOrders  = []store.TaskOrder{"", store.TasksByTitle}
)

// caseLeasts are the selectable minimum shares, in per cent.
var caseLeasts = []int{1, 5, 10, 20, 30, 50}

// Grouped reports whether the list shows each batch or archive as one row. It does so unless it shows a group's checks or search results.
func (f caseFilter) Grouped() bool { return f.In == "" && f.Query == "" && !f.Mine }

// Orders returns the selectable sort orders.
func (f caseFilter) Orders() []store.TaskOrder {
	if f.Figures {
		return caseOrders
	}
	return ownOrders
}

// Leasts returns the selectable minimum shares, or nil if the visitor may not filter by share.
func (f caseFilter) Leasts() []int {
	if f.Figures {
		return caseLeasts
	}
	return nil
}

// caseViews are the views of the list of checks, in the order in which a check passes through them. The first shows all checks.
var caseViews = []string{"all", "waiting", "new", "review", "decided", "signed", "failed"}

// caseLink is a link to a view.
type caseLink struct {
	Key, Path string
	Current   bool
}

func caseFilterOf(q url.Values, v *Visitor) caseFilter {
	f := caseFilter{View: q.Get("view"), Query: strings.TrimSpace(q.Get("q")), Mine: q.Get("mine") != "", In: q.Get("in"),
		Order: store.TaskOrder(q.Get("sort")), Figures: v.SeesAll()}
	if f.Figures {
		f.Least, _ = strconv.Atoi(q.Get("least")) // an unparsable value filters nothing
	}
	if f.Least < 0 || f.Least > 100 {
		f.Least = 0
	}
	f.From, _ = strconv.Atoi(q.Get("from")) // an unparsable value starts at the first row
	f.From = max(f.From, 0)
	if !slices.Contains(f.Orders(), f.Order) {
		f.Order = ""
	}
	if !slices.Contains(caseViews, f.View) {
		f.View = caseViews[0]
	}
	if runes := []rune(f.Query); len(runes) > 200 {
		f.Query = string(runes[:200])
	}
	return f
}

// narrow restricts a filter to the tasks that f selects for the visitor.
func (f caseFilter) narrow(t *store.TaskFilter, v *Visitor) {
	t.Query, t.Within, t.Heads, t.Least = f.Query, f.In, f.Grouped(), float64(f.Least)/100
	if f.Mine {
		t.Assigned = v.Name
	}
	switch f.View {
	case "waiting":
		t.States = []concordat.State{concordat.TaskQueued, concordat.TaskRunning}
	case "failed":
		t.States = []concordat.State{concordat.TaskFailed}
	case "new", "review", "decided", "signed":
		t.Stage = store.CaseStage(f.View)
	}
}

// Path returns the address of the list selected by f, starting at an index.
func (f caseFilter) Path(from int) string {
	q := url.Values{}
	if f.Order != "" {
		q.Set("sort", string(f.Order))
	}
	if f.Least > 0 {
		q.Set("least", strconv.Itoa(f.Least))
	}
	if f.In != "" {
		q.Set("in", f.In)
	}
	if f.View != caseViews[0] {
		q.Set("view", f.View)
	}
	if f.Query != "" {
		q.Set("q", f.Query)
	}
	if f.Mine {
		q.Set("mine", "yes")
	}
	if from > 0 {
		q.Set("from", strconv.Itoa(from))
	}
	if len(q) == 0 {
		return "/checks"
	}
	return "/checks?" + q.Encode()
}

// Links returns the links to the views. Only visitors who may see everyone's checks get the review views.
func (f caseFilter) Links(reviewer bool) (out []caseLink) {
	for _, view := range caseViews {
		if !reviewer && slices.Contains([]string{"new", "review", "decided", "signed"}, view) {
			continue
		}
		to := f
		to.View, to.From = view, 0
		out = append(out, caseLink{"cases." + view, to.Path(0), view == f.View})
	}
	return out
}

// reviewers returns the accounts to which checks can be assigned for review.
func (w *Web) reviewers(ctx context.Context) (out []string, err error) {
	all, err := w.o.Store.People.Accounts(ctx)
	for _, a := range all {
		if !a.Disabled && (&Visitor{Account: a}).MayReview() {
			out = append(out, a.Name)
		}
	}
	return out, err
}

// changeCases assigns the selected checks to a reviewer or sets the due date of their decisions. It changes all of them, or none if one
// does not exist.
func (w reportPages) changeCases(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := pages.ParseForm(rw, r)
	var n store.Review
	if err == nil {
		n, err = w.caseNote(r.Context(), v, r.PostForm)
	}
	var ids []concordat.TaskID
	for _, id := range r.PostForm["check"] {
		if err == nil {
			_, err = w.Visible(r.Context(), v, concordat.TaskID(id))
			ids = append(ids, concordat.TaskID(id))
		}
	}
	if err == nil && (len(ids) == 0 || len(ids) > TaskPage) {
		err = message.Invalid("cases.nothing")
	}
	if err == nil {
		detail := map[string]any{"tasks": ids, "to": n.Text}
		err = pages.Change(r.Context(), w.o.Store, v.Name, "review_"+string(n.Kind), detail, func(tx *store.DB) error {
			for _, id := range ids {
				if _, err := tx.Checks.AppendReview(r.Context(), id, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	to := "/checks"
	if len(ids) == 1 && r.PostForm.Get("at") == "report" {
		to += "/" + string(ids[0]) + "#notes"
	} else if back, err := url.ParseQuery(r.PostForm.Get("list")); err == nil {
		show := caseFilterOf(back, v)
		to = show.Path(show.From)
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// caseNote returns the fields that a form sets: either the reviewer or the due date.
func (w reportPages) caseNote(ctx context.Context, v *Visitor, f url.Values) (store.Review, error) {
	n := store.Review{At: w.o.Now(), By: v.Name}
	switch f.Get("action") {
	case "assign":
		n.Kind, n.Text = store.ReviewAssign, f.Get("assignee")
		all, err := w.reviewers(ctx)
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
	// MayAdd reports whether the submission may be added: the site's rule allows it, and the text is kept.
	MayAdd bool
	// Choices are the libraries to which the submission may be added, the default first.
	Choices []store.Library
}

// caseOrigin returns the check with which a case began: t itself unless it is a recheck.
func (w *Web) caseOrigin(ctx context.Context, t store.Task) (concordat.TaskID, error) {
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
func (w *Web) CaseLibrary(ctx context.Context, t store.Task, now *Review) (CaseLibrary, error) {
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
	adding := w.o.Adding()
	if out.State == CaseAdded || out.State == CaseWaiting || !adding.allowed() {
		return out, nil
	}
	if out.MayAdd, err = w.hasText(ctx, t.ID); err != nil || !out.MayAdd {
		return out, err
	}
	own := store.Library{ID: adding.Library, Title: titles[adding.Library]}
	out.Choices = append([]store.Library{own}, slices.DeleteFunc(all, func(l store.Library) bool { return l.ID == own.ID })...)
	return out, nil
}

// caseProgress sets the state of an addition.
func (w *Web) caseProgress(ctx context.Context, added addedCase, out *CaseLibrary) error {
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
func (w reportPages) AddCase(ctx context.Context, v *Visitor, t store.Task, lib concordat.LibraryID) error {
	adding := w.o.Adding()
	if !adding.allowed() {
		return message.Refused("case.never")
	}
	now, err := w.Review(ctx, t)
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

// enqueueCase queues a task that adds the submission of a case to a library. It first calls also, in the same transaction.
func (w reportPages) enqueueCase(ctx context.Context, v *Visitor, t store.Task, lib concordat.LibraryID, also func(*store.DB) error) error {
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
		case missing && lib != w.o.Adding().Library:
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
func (w reportPages) noteCase(ctx context.Context, tx *store.DB, v *Visitor, id concordat.TaskID, in addedCase, action string,
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
func (w reportPages) RemoveCase(ctx context.Context, v *Visitor, t store.Task) error {
	now, err := w.Review(ctx, t)
	var in CaseLibrary
	if err == nil {
		in, err = w.CaseLibrary(ctx, t, now)
	}
	if err != nil {
		return err
	}
	switch in.State {
	case CaseOut:
		return fmt.Errorf("document of %s: %w: it is in no library", t.ID, concordat.ErrNotFound)
	case CaseWaiting:
		err = w.cancelCase(ctx, v, now.Added, in.Document)
	case CaseAdded:
		err = w.Deletions.EraseSome(ctx, v, removedCase, in.Library, in.Document)
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
func (w reportPages) cancelCase(ctx context.Context, v *Visitor, added addedCase, document concordat.DocumentID) error {
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

// changeLibrary adds the submission of a case to a library or removes it.
func (w reportPages) changeLibrary(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, _, err := w.reviewForm(rw, r, v)
	if err == nil && !HasReport(t) {
		err = fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	if err == nil {
		switch action := r.PostForm.Get("action"); action {
		case "add":
			err = w.AddCase(r.Context(), v, t, concordat.LibraryID(r.PostForm.Get("library")))
		case "remove":
			err = w.RemoveCase(r.Context(), v, t)
		default:
			err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
		}
	}
	var now *Review
	if err == nil {
		now, err = w.Review(r.Context(), t)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, fmt.Sprintf("/checks/%s?changed=%d#notes", t.ID, now.Latest), http.StatusSeeOther)
}
