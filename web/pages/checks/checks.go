// Package checks serves the list of checks, which groups those of a batch or an archive, their assignment to reviewers, their progress,
// and the administrators' list of tasks. Control finds, cancels and retries checks for these pages, other subjects and the API. Checks are
// submitted in package intake, and their reports are shown in package reports. Start with New.
package checks

import (
	"cmp"
	"context"
	"net/http"

	"concordat"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/pages/deletions"
	"concordat/web/pages/settings"
	"concordat/web/progress"
	"concordat/web/review"
)

// Batches finds batches. It is safe for concurrent use.
type Batches interface {
	// VisibleBatch returns a batch that the visitor may see.
	VisibleBatch(ctx context.Context, v *pages.Visitor, id string) (store.Batch, error)
}

// Example offers an example to a new site. It is safe for concurrent use.
type Example interface {
	// State returns the example's state for the list of checks; empty is true if there are no checks.
	State(ctx context.Context, v *pages.Visitor, empty bool) (ExampleState, error)
}

// ExampleState describes what the visitor may do with the example.
type ExampleState struct {
	Offered bool // the visitor may add it
	There   bool // it has been added, and the visitor may remove it
}

// Options configures the pages. All fields are required.
type Options struct {
	Control  Control
	Reviews  *review.Reviews
	Settings settings.Settings
	Batches  Batches
	Example  Example
	Progress *progress.Reader
	Streams  *progress.Streams
}

// Checks shows lists of checks and their progress.
type Checks struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Checks {
	w := Checks{frame, o}
	frame.AddPage("GET /checks", pages.Everyone, w.checksPage)
	frame.AddPage("POST /checks/cases", pages.Officers, w.changeCases)
	frame.AddPage("GET /checks/{id}/events", pages.Everyone, w.events)
	frame.AddPage("POST /checks/{id}/cancel", pages.Checkers, w.cancel)
	frame.AddPage("GET /admin/tasks", pages.Overseers, w.adminTasksPage)
	frame.AddPage("POST /admin/tasks/{id}", pages.Administrators, w.changeTask)
	return w
}

// onPage is the number of checks on a page of a list.
const onPage = 50

type checksPage struct {
	Rows             []Row
	Newer, Older     string     // addresses of the previous and next pages; empty for none
	First, Last, All int        // numbers of the first and last row, from 1, and of all rows that match the filter
	Of               *caseGroup // group whose checks are listed; nil if all checks are listed
	Filter           caseFilter
	Views            []caseLink
	Reviewers        []string // accounts to which checks can be assigned; nil if the visitor does not review
	People           pages.Names
	List             string // the list's query; forms return to it
	Busy             bool   // some checks have not ended
	Deleted          deletions.Now
	// MayAdd reports whether the visitor may add documents to libraries.
	MayAdd bool
	// MayCheck reports whether the visitor may submit.
	MayCheck bool
	// On a site without checks, Library is a library to begin with, empty if there is none, and Documents is the number of documents in
	// all libraries.
	Library   concordat.LibraryID
	Documents int
	Example   ExampleState
	Underway  []store.Batch     // recent batches in progress whose documents are not listed yet
	Meaning   *settings.Meaning // set on a site without checks for an administrator; nil if unknown
}

func (w Checks) checksPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	f := store.TaskFilter{Without: store.AddingBatch} // library pages list these
	if !v.SeesAll() {
		f.Owner = v.Name
	}
	show := caseFilterOf(r.URL.Query(), v)
	show.narrow(&f, v)
	tasks, all, err := w.o.Control.Store.Checks.ListTasks(r.Context(), f, show.Order, show.From, onPage)
	list := r.URL.Query()
	list.Del("deleted") // the message is shown only once
	p := checksPage{MayCheck: v.Role != store.RoleAuditor, MayAdd: v.MayReview(), Filter: show,
		Views: show.Links(v.SeesAll()), List: list.Encode()}
	if err == nil && v.MayReview() {
		p.Reviewers, err = w.o.Reviews.Reviewers(r.Context())
	}
	if err == nil {
		p.People, err = w.frame.Names(r.Context())
	}
	if err == nil {
		p.Deleted, err = deletions.Just(r, w.o.Control.Store, v)
	}
	var scores map[concordat.TaskID]review.ShownScore
	if err == nil {
		scores, err = w.o.Reviews.Scores(r.Context(), v, tasks)
	}
	var groups map[concordat.TaskID]*caseGroup
	if err == nil {
		groups, err = w.groups(r.Context(), v, show, tasks)
	}
	if err == nil && show.In != "" {
		p.Of, err = w.groupOf(r.Context(), v, show)
	}
	for _, t := range tasks {
		if err == nil {
			var one Row
			one, err = w.o.Control.Row(r.Context(), v, t)
			one.Score, one.HasReport, one.Group = scores[t.ID], pages.HasReport(t), groups[t.ID]
			p.Rows = append(p.Rows, one)
			p.Busy = p.Busy || !t.State.Ended() || one.Score.Later || one.Group != nil && !one.Group.State.Ended()
		}
	}
	if err == nil && show.Path(show.From) == "/checks" {
		p.Underway, err = underway(r.Context(), w.o.Control.Store.Batches, v, groups)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.First, p.Last, p.All = min(show.From+1, all), show.From+len(tasks), all
	if p.Last < all {
		p.Older = show.Path(p.Last)
	}
	if show.From > 0 {
		p.Newer = show.Path(max(show.From-onPage, 0))
	}
	if p.Example, err = w.o.Example.State(r.Context(), v, all == 0 && show.Path(0) == "/checks"); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if len(tasks) == 0 && v.Role == store.RoleAdministrator {
		p.Meaning = w.o.Settings.Meaning(r.Context())
	}
	if len(tasks) == 0 && p.MayAdd {
		ls, err := w.o.Control.Store.Catalogue.Libraries(r.Context())
		if err != nil {
			w.frame.Fail(rw, r, v, err)
			return
		}
		for _, l := range ls {
			p.Library, p.Documents = cmp.Or(p.Library, l.ID), p.Documents+l.Documents
		}
	}
	w.frame.Show(rw, r, v, http.StatusOK, "checks", "title.checks", p)
}

// task returns the requested task if the visitor may see it; to other visitors it appears not to exist.
func (w Checks) task(r *http.Request, v *pages.Visitor) (store.Task, error) {
	return w.o.Control.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
}

func (w Checks) cancel(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := w.task(r, v)
	if err == nil {
		err = w.o.Control.CancelTask(r.Context(), v, t)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/checks/"+string(t.ID), http.StatusSeeOther)
}
