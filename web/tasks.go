package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/deletions"
	"concordat/web/pages/settings"
	"concordat/web/review"
)

// checkPages serves the pages for submitting and following a check.
type checkPages struct{ *Web }

// TaskPage is the number of checks on a page of the list.
const TaskPage = 50

// row is a check in the list.
type row struct {
	store.Task
	Queued, Running int // numbers of checks queued and running before it
	MayCancel       bool
	LeftOut         concordat.LeftOut
	File            string            // name as submitted, if it differs from the title; empty for pasted text or if unknown
	Score           review.ShownScore // score in a list; zero if there is no report
	HasReport       bool
	Watched         bool       // later documents are compared with it; set for one check, not in a list
	Group           *caseGroup // the batch or archive of the row; nil if the row is a check
}

type checksPage struct {
	Rows             []row
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
	Example   exampleState
	Underway  []store.Batch     // recent batches in progress whose documents are not listed yet
	Meaning   *settings.Meaning // set on a site without checks for an administrator; nil if unknown
}

func (w checkPages) checksPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	f := store.TaskFilter{Without: store.AddingBatch} // library pages list these
	if !v.SeesAll() {
		f.Owner = v.Name
	}
	show := caseFilterOf(r.URL.Query(), v)
	show.narrow(&f, v)
	tasks, all, err := w.o.Store.Checks.ListTasks(r.Context(), f, show.Order, show.From, TaskPage)
	list := r.URL.Query()
	list.Del("deleted") // the message is shown only once
	p := checksPage{MayCheck: v.Role != store.RoleAuditor, MayAdd: v.MayReview(), Filter: show,
		Views: show.Links(v.SeesAll()), List: list.Encode()}
	if err == nil && v.MayReview() {
		p.Reviewers, err = w.Reviews.Reviewers(r.Context())
	}
	if err == nil {
		p.People, err = w.Names(r.Context())
	}
	if err == nil {
		p.Deleted, err = deletions.Just(r, w.o.Store, v)
	}
	var scores map[concordat.TaskID]review.ShownScore
	if err == nil {
		scores, err = w.Reviews.Scores(r.Context(), v, tasks)
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
			var one row
			one, err = w.row(r.Context(), v, t)
			one.Score, one.HasReport, one.Group = scores[t.ID], pages.HasReport(t), groups[t.ID]
			p.Rows = append(p.Rows, one)
			p.Busy = p.Busy || !t.State.Ended() || one.Score.Later || one.Group != nil && !one.Group.State.Ended()
		}
	}
	if err == nil && show.Path(show.From) == "/checks" {
		p.Underway, err = underway(r.Context(), w.o.Store.Batches, v, groups)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p.First, p.Last, p.All = min(show.From+1, all), show.From+len(tasks), all
	if p.Last < all {
		p.Older = show.Path(p.Last)
	}
	if show.From > 0 {
		p.Newer = show.Path(max(show.From-TaskPage, 0))
	}
	if p.Example, err = w.Example.State(r.Context(), v, all == 0 && show.Path(0) == "/checks"); err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	if len(tasks) == 0 && v.Role == store.RoleAdministrator {
		p.Meaning = w.Settings.Meaning(r.Context())
	}
	if len(tasks) == 0 && p.MayAdd {
		ls, err := w.o.Store.Catalogue.Libraries(r.Context())
		if err != nil {
			w.Fail(rw, r, v, err)
			return
		}
		for _, l := range ls {
			p.Library, p.Documents = cmp.Or(p.Library, l.ID), p.Documents+l.Documents
		}
	}
	w.Show(rw, r, v, http.StatusOK, "checks", "title.checks", p)
}

// Forget drops a deleted check from the cache.
func (w checkPages) Forget(id concordat.TaskID) { w.cache.drop(id) }

func (w checkPages) row(ctx context.Context, v *Visitor, t store.Task) (row, error) {
	t.Title = pages.Visible(t.Title)
	one := row{Task: t, MayCancel: !t.State.Ended() && v.MayChange(t), File: FileName(t), LeftOut: view.LeftOutOf(t)}
	if one.File == t.Title {
		one.File = ""
	}
	if t.State == concordat.TaskQueued {
		var err error
		if one.Queued, one.Running, err = w.o.Store.Checks.Ahead(ctx, t); err != nil {
			return one, err
		}
	}
	return one, nil
}

// FileName returns the name under which the file of a check was submitted, including its path within an archive, or "" for pasted text or
// an unknown name.
func FileName(t store.Task) string {
	var j site.Job
	if len(t.Request) == 0 || json.Unmarshal(t.Request, &j) != nil || j.Name == "text" {
		return ""
	}
	if len(j.Parts) > 1 {
		var names []string
		for _, p := range j.Parts {
			names = append(names, p.Name)
		}
		return pages.Visible(strings.Join(names, ", "))
	}
	return pages.Visible(j.Name)
}

// seenLeftOut returns the skipped files, with visible names.
func seenLeftOut(out concordat.LeftOut) concordat.LeftOut {
	seen := concordat.LeftOut{Count: out.Count}
	for _, name := range out.Names {
		seen.Names = append(seen.Names, pages.Visible(name))
	}
	return seen
}

// seenName is pages.Visible for templates; it accepts names of any type.
func seenName(name any) string { return pages.Visible(fmt.Sprint(name)) }

// shareBar returns a bar whose length shows a share, 0 to 1. The number is shown next to it.
func shareBar(share float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="sharebar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="%.1f" height="10"/></svg>`,
		100*min(1, max(0, share))))
}

// task returns the requested task if the visitor may see it; to other visitors it appears not to exist.
func (w *Web) task(r *http.Request, v *Visitor) (store.Task, error) {
	return w.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
}

func (w *Web) Visible(ctx context.Context, v *Visitor, id concordat.TaskID) (store.Task, error) {
	t, err := w.o.Store.Checks.Task(ctx, id)
	if err == nil && !v.SeesAll() && t.Owner != v.Name {
		err = fmt.Errorf("task %s: %w", t.ID, concordat.ErrNotFound)
	}
	return t, err
}

// CurrentReport returns the report under the current rules, with the decisions about it, and records the reader.
func (w *Web) CurrentReport(ctx context.Context, v *Visitor, t store.Task, in report.Language) (*report.Report, error) {
	if !pages.HasReport(t) {
		return nil, fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	now, err := w.Reviews.Of(ctx, t)
	if err != nil {
		return nil, err
	}
	see := w.Reviews.Sees(v, now)
	got, err := w.Reports.Reading(ctx, t.ID, now.Rules, in, see)
	if err != nil {
		return nil, err
	}
	w.Reports.NoteRead(ctx, v, t.ID, false)
	rep := *got.Report
	if see == review.SeeEverything {
		rep.Review = now.InReport() // only officers may see what officers wrote
	}
	if v.MayReview() { // alerts are for officers
		if rep.Later, err = site.Later(ctx, w.o.Store, t.ID); err != nil {
			return nil, err
		}
	}
	return &rep, nil
}

func (w reportPages) reportPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, err := w.task(r, v)
	var rep *report.Report
	if err == nil {
		rep, err = w.CurrentReport(r.Context(), v, t, message.LanguageOf(r).Report())
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	h := rw.Header()
	switch r.URL.Query().Get("format") {
	case "json":
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", Attachment(t, "json"))
		if err := w.o.ReportJSON(rw, rep); err != nil {
			h.Del("Content-Disposition")
			w.Fail(rw, r, v, err)
			return
		}
	case "pdf":
		w.pdf(rw, r, v, t, rep)
		return
	case "csv":
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", Attachment(t, "csv"))
		err = w.ReportCSV(rw, rep, report.CSVOptions{BOM: true})
	default:
		err = sendReport(w.Web, rw, rep)
	}
	if err != nil {
		w.o.Logger.Error("report", "task", t.ID, "error", err)
	}
}

// ReportPolicy returns the Content-Security-Policy of a report page, which allows the report's own style and script, and no frame around
// it.
func ReportPolicy() string { return html.Policy() + "; frame-ancestors 'none'" }

// ReportHTML and ReportCSV write a report as a self-contained file, signed if the site has keys.
func (w *Web) ReportHTML(to io.Writer, rep *report.Report) error {
	return w.o.ReportFile(to, formHTML, func(to io.Writer) error { return html.Write(to, rep) })
}

func (w *Web) ReportCSV(to io.Writer, rep *report.Report, o report.CSVOptions) error {
	return w.o.ReportFile(to, formCSV, func(to io.Writer) error { return report.WriteCSV(to, rep, o) })
}

// Attachment sets the file name of a download (RFC 6266, section 4); it does not contain the name of the reported document.
func Attachment(t store.Task, ending string) string {
	return "attachment; filename*=UTF-8''" + url.PathEscape(pages.CleanName(t.Title)+".report."+ending)
}

func (w checkPages) cancel(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, err := w.task(r, v)
	if err == nil {
		err = w.CancelTask(r.Context(), v, t)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/checks/"+string(t.ID), http.StatusSeeOther)
}

func (w checkPages) CancelTask(ctx context.Context, v *Visitor, t store.Task) error {
	if !v.MayChange(t) {
		return fmt.Errorf("cancel %s: %w", t.ID, concordat.ErrRefused)
	}
	return w.o.Queue.Cancel(ctx, t.ID, store.Cause{Code: store.CauseCancelled, Who: v.Name},
		v.Note("check_cancelled", map[string]any{"task": t.ID}))
}
