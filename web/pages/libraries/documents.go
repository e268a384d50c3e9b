package libraries

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web/message"
	"concordat/web/pages"
)

const (
	// documentPage is the number of documents on a page.
	documentPage = 50
	// additionsShown bounds the listed additions; the same bound applies to the listed failures.
	additionsShown = 20
	// additionsTime is the period that the summary of additions covers.
	additionsTime = 24 * time.Hour
)

// documentOrders are the sort orders of documents.
var documentOrders = []store.DocumentOrder{store.ByDocumentID, store.ByDocumentTitle, store.ByAdded, store.BySentences}

// documentList is a page of a library's documents.
type documentList struct {
	Rows       []store.ListedDocument
	Query      string
	Order      store.DocumentOrder
	All        int // number of documents that match the query
	Number     int // number of the page, from 1
	Pages      int
	From, To   int // numbers of the documents on this page, from 1
	Next, Last string
	path       string
}

// Orders returns the selectable sort orders.
func (documentList) Orders() []store.DocumentOrder { return documentOrders }

// address returns the address of another page of the list.
func (l documentList) address(page int) string {
	q := url.Values{}
	if l.Query != "" {
		q.Set("q", l.Query)
	}
	if l.Order != store.ByDocumentID {
		q.Set("sort", string(l.Order))
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if len(q) == 0 {
		return l.path
	}
	return l.path + "?" + q.Encode()
}

// listDocuments reads the page of documents requested by r. Unparsable values select the first page, sorted by name.
func (w Libraries) listDocuments(ctx context.Context, r *http.Request, lib concordat.LibraryID) (documentList, error) {
	q := r.URL.Query()
	l := documentList{Query: strings.TrimSpace(q.Get("q")), Order: store.DocumentOrder(q.Get("sort")), path: Path(lib)}
	if runes := []rune(l.Query); len(runes) > 200 {
		l.Query = string(runes[:200])
	}
	known := false
	for _, o := range documentOrders {
		known = known || o == l.Order
	}
	if !known {
		l.Order = store.ByDocumentID
	}
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > 1<<20 {
		n = 1
	}
	f := store.DocumentFilter{Query: l.Query, Order: l.Order, Skip: (n - 1) * documentPage, Limit: documentPage}
	if l.Rows, l.All, err = w.o.Store.Catalogue.ListDocuments(ctx, lib, f); err != nil {
		return l, err
	}
	for i := range l.Rows {
		l.Rows[i].Title = pages.Visible(l.Rows[i].Title)
	}
	l.Number, l.Pages = n, max(1, (l.All+documentPage-1)/documentPage)
	l.From, l.To = f.Skip+1, f.Skip+len(l.Rows)
	if n > 1 {
		l.Last = l.address(min(n-1, l.Pages))
	}
	if n < l.Pages {
		l.Next = l.address(n + 1)
	}
	return l, nil
}

// additionCounts counts the outcomes for the files of one day.
type additionCounts struct {
	Files                   int // number of files
	Added, Replaced, Same   int // numbers of documents
	Failed, Waiting, Faulty int // files that failed or have not been read; Faulty counts unreadable members of archives
}

// Unread returns the number of files and archive members that could not be read.
func (c additionCounts) Unread() int { return c.Failed + c.Faulty }

// Ended returns the number of files that were read or failed.
func (c additionCounts) Ended() int { return c.Files - c.Waiting }

func (c *additionCounts) count(s store.TaskSum) {
	c.Files += s.Tasks
	switch {
	case !s.State.Ended():
		c.Waiting += s.Tasks
		return
	case s.State == concordat.TaskFailed:
		c.Failed += s.Tasks
		return
	}
	if s.Cause.Code == store.CauseAdded {
		n := func(i int) int { return s.Tasks * s.Cause.Number(i) }
		c.Added, c.Replaced, c.Same = c.Added+n(0), c.Replaced+n(1), c.Same+n(2)
		c.Faulty += n(3)
	}
}

// countAdditions counts the files recently submitted to a library and returns the latest failures.
func (w Libraries) countAdditions(ctx context.Context, lib concordat.LibraryID) (sum additionCounts, failed []store.Task, err error) {
	f := store.TaskFilter{Batch: Additions(lib), From: w.o.Now().Add(-additionsTime)}
	sums, err := w.o.Store.Checks.SumTasks(ctx, f)
	if err != nil {
		return sum, nil, err
	}
	for _, s := range sums {
		sum.count(s)
	}
	if sum.Failed > 0 {
		f.States = pages.OneState(concordat.TaskFailed)
		failed, err = w.o.Store.Checks.FilterTasks(ctx, f, 0, additionsShown)
	}
	return sum, failed, err
}

// additionsPage lists the files submitted to a library.
type additionsPage struct {
	People pages.Names
	store.Library
	Path   string
	State  concordat.State // state of the listed additions; empty for any
	Tasks  []addition
	Busy   bool
	Older  string // address of the next page; empty on the last page
	MayAdd bool
}

func (w Libraries) additionsPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	ctx, q := r.Context(), r.URL.Query()
	p := additionsPage{State: concordat.State(q.Get("state")), MayAdd: v.MayReview()}
	var err error
	if p.Library, err = w.library(ctx, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if p.State != concordat.TaskFailed {
		p.State = ""
	}
	p.Path = Path(p.ID)
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // an unparsable value starts at the newest addition
	f := store.TaskFilter{Batch: Additions(p.ID), States: pages.OneState(p.State)}
	tasks, err := w.o.Store.Checks.FilterTasks(ctx, f, before, additionsOnPage)
	if err == nil {
		p.Tasks, p.Busy, err = w.shownAdditions(ctx, r, v, tasks)
	}
	if err == nil {
		p.People, err = w.frame.Names(ctx)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if len(tasks) == additionsOnPage {
		older := url.Values{"before": {strconv.FormatInt(tasks[additionsOnPage-1].Seq, 10)}}
		if p.State != "" {
			older.Set("state", string(p.State))
		}
		p.Older = p.Path + "/additions?" + older.Encode()
	}
	w.frame.Show(rw, r, v, http.StatusOK, "additions", "title.library", p)
}

// shownAdditions prepares a library's addition tasks for display; busy reports whether some have not ended.
func (w Libraries) shownAdditions(ctx context.Context, r *http.Request, v *pages.Visitor,
	tasks []store.Task) (out []addition, busy bool, err error) {
	way := w.o.Progress.For(v, message.LanguageOf(r))
	for _, t := range tasks {
		t.Title = pages.Visible(t.Title)
		one := addition{Task: t, LeftOut: view.LeftOutOf(t)}
		if !t.State.Ended() {
			busy = true
			if one.Now, err = way.Now(ctx, t); err != nil {
				return nil, busy, err
			}
		}
		out = append(out, one)
	}
	return out, busy, nil
}

// retryAdditions retries one failed file or, if none is given, all failed files of the last day.
func (w Libraries) retryAdditions(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	ctx := r.Context()
	l, err := w.library(ctx, r)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	var todo []store.Task
	if err == nil {
		if id := r.PostForm.Get("task"); id != "" {
			todo, err = w.oneAddition(ctx, l.ID, concordat.TaskID(id))
		} else {
			todo, err = w.o.Store.Checks.FilterTasks(ctx, store.TaskFilter{Batch: Additions(l.ID), States: pages.OneState(concordat.TaskFailed),
				From: w.o.Now().Add(-additionsTime)}, 0, 0)
		}
	}
	for _, t := range todo {
		if err == nil {
			err = w.o.Tasks.RetryTask(ctx, v, t)
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, Path(l.ID), http.StatusSeeOther)
}

func (w Libraries) oneAddition(ctx context.Context, lib concordat.LibraryID, id concordat.TaskID) ([]store.Task, error) {
	t, err := w.o.Store.Checks.Task(ctx, id)
	if err == nil && t.Batch != Additions(lib) {
		err = fmt.Errorf("addition %s to %s: %w", id, lib, concordat.ErrNotFound)
	}
	return []store.Task{t}, err
}

// settingsPage shows forms for the policy, shares and wordings of a library.
func (w Libraries) settingsPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showSettings(rw, r, v, http.StatusOK, "")
}

func (w Libraries) showSettings(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, problem string) {
	p := librarySettings{Problem: problem, Sections: w.o.Choices.Templates(), Levels: concordat.Levels()[1:], Forwards: site.Forwards}
	var err error
	if p.Library, err = w.library(r.Context(), r); err == nil {
		p.Path = Path(p.ID)
		err = w.readShares(r.Context(), &p)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.frame.Show(rw, r, v, code, "library_settings", "library.settings", p)
}
