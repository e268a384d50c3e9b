// Package libraries serves the pages of libraries: their documents, additions and settings. The API shares its operations. Start with New.
package libraries

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/people"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/deletions"
	"concordat/web/pages/shares"
	"concordat/web/progress"
)

// additionsOnPage is the number of additions on a page of the list.
const additionsOnPage = 50

// Intake adds the documents of files to libraries. It is safe for concurrent use.
type Intake interface {
	// TakeAdditions reads the files of a form, queues a task for each that adds its documents to a library, and answers. It calls show to
	// show the form again with the problem.
	TakeAdditions(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, lib concordat.LibraryID,
		show func(problem string, faults []pages.Fault))
}

// Tasks restarts failed tasks. It is safe for concurrent use.
type Tasks interface {
	RetryTask(ctx context.Context, v *pages.Visitor, t store.Task) error
}

// Options configures the pages. All fields are required.
type Options struct {
	Store     *store.DB
	Intake    Intake
	Tasks     Tasks
	Progress  *progress.Reader
	Shares    shares.Shares
	Deletions deletions.Deletions
	Choices   pages.Choices
	MaxUpload int64 // bytes of one file
	Now       func() time.Time
}

// Libraries shows and changes the libraries of a site.
type Libraries struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Libraries {
	w := Libraries{frame, o}
	frame.AddPage("GET /libraries", pages.Everyone, w.librariesPage)
	frame.AddPage("POST /libraries", pages.Officers, w.makeLibrary)
	frame.AddPage("GET /libraries/{id}", readers, w.libraryPage)
	frame.AddPage("GET /libraries/{id}/settings", pages.Administrators, w.settingsPage)
	frame.AddPage("GET /libraries/{id}/additions", readers, w.additionsPage)
	frame.AddPage("POST /libraries/{id}/additions", pages.Officers, w.retryAdditions)
	frame.AddPage("POST /libraries/{id}", pages.Administrators, w.changeLibrary)
	frame.AddPage("POST /libraries/{id}/documents", pages.Officers, w.addDocuments)
	frame.AddPage("POST /libraries/{id}/documents/delete", pages.Officers, w.deleteDocument)
	return w
}

// readers are the roles that may see the documents of a library.
var readers = []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleAuditor}

type librariesPage struct {
	Libraries []store.Library
	MayMake   bool
	MayOpen   bool
	Problem   string
	Name      string // rejected values, to be shown again
	Title     string
}

func (w Libraries) librariesPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showLibraries(rw, r, v, http.StatusOK, librariesPage{})
}

func (w Libraries) showLibraries(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p librariesPage) {
	var err error
	if p.Libraries, err = w.o.Store.Catalogue.Libraries(r.Context()); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.MayMake, p.MayOpen = v.MayReview(), v.SeesAll()
	w.frame.Show(rw, r, v, code, "libraries", "title.libraries", p)
}

// makeLibrary creates an empty library.
func (w Libraries) makeLibrary(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	name, title := strings.TrimSpace(r.PostForm.Get("name")), r.PostForm.Get("title")
	l, err := w.CreateLibrary(r.Context(), v, name, title)
	switch {
	case errors.Is(err, concordat.ErrExists):
		w.showLibraries(rw, r, v, http.StatusConflict, librariesPage{Problem: "libraries.taken", Name: name, Title: title})
	case errors.Is(err, concordat.ErrInvalid):
		w.showLibraries(rw, r, v, http.StatusBadRequest, librariesPage{Problem: "libraries.badname", Name: name, Title: title})
	case err != nil:
		w.frame.Fail(rw, r, v, err)
	default:
		http.Redirect(rw, r, Path(l.ID), http.StatusSeeOther)
	}
}

func (w Libraries) CreateLibrary(ctx context.Context, v *pages.Visitor, name, title string) (store.Library, error) {
	title, err := people.Title(title)
	if err != nil {
		return store.Library{}, err
	}
	l := store.Library{ID: concordat.LibraryID(name), Title: title, Created: w.o.Now()}
	if err := site.CheckLibraryName(name); err != nil {
		return l, message.Invalid("libraries.badname")
	}
	return l, pages.Change(ctx, w.o.Store, v.Name, "library_made", map[string]any{"library": l.ID}, func(tx *store.DB) error {
		return tx.Catalogue.CreateLibrary(ctx, l)
	})
}

// Path returns the path of a library's page.
func Path(id concordat.LibraryID) string { return "/libraries/" + url.PathEscape(string(id)) }

// Additions returns the batch name of tasks that add documents to a library.
func Additions(id concordat.LibraryID) string { return store.AddingBatch + string(id) }

type libraryPage struct {
	store.Library
	documentList
	Path              string
	Tasks             []addition // the latest additions
	Failed            []addition // additions that failed within the last day
	Lately            additionCounts
	Busy              bool // an addition is in progress
	MayAdd, MayChange bool
	Problem           string
	Faults            []pages.Fault
	MaxMiB            int64
	MaxFiles          int
}

// librarySettings are the settings of a library that an administrator can change.
type librarySettings struct {
	store.Library
	Path      string
	Partners  []pages.Partner
	Shares    []libraryShare
	Templates []store.Template
	Sections  []string // names of section templates
	Levels    []concordat.Show
	Forwards  []string
	Problem   string
}

// Limits returns the fields for a share's limits, in display order.
func (librarySettings) Limits() []string {
	return []string{"sentences", "burst", "disclosures", "documents", "characters", "opened", "units", "lead_cells",
		"lead_sentences", "lead_documents"}
}

// addition is a task that adds documents to a library.
type addition struct {
	store.Task
	Now     progress.Shown
	LeftOut concordat.LeftOut
}

type libraryShare struct {
	store.Share
	Name string // name of the partner
}

func (w Libraries) library(ctx context.Context, r *http.Request) (store.Library, error) {
	return w.o.Store.Catalogue.Library(ctx, concordat.LibraryID(r.PathValue("id")))
}

func (w Libraries) libraryPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showLibrary(rw, r, v, http.StatusOK, "")
}

func (w Libraries) showLibrary(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, problem string, faults ...pages.Fault) {
	p := libraryPage{Problem: problem, Faults: faults, MaxMiB: w.o.MaxUpload >> 20, MaxFiles: pages.MaxFiles, MayAdd: v.MayReview(),
		MayChange: v.Role == store.RoleAdministrator}
	ctx := r.Context()
	// Additions are read first, so that a document is already listed if its addition ends in between. In the opposite order, the page
	// could show neither the addition nor the document, and would have no reason to reload.
	p.ID = concordat.LibraryID(r.PathValue("id"))
	err := w.readAdditions(ctx, r, v, &p)
	if err == nil {
		p.Library, err = w.library(ctx, r)
	}
	p.Path = Path(p.ID)
	if err == nil {
		p.documentList, err = w.listDocuments(ctx, r, p.ID)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.frame.Show(rw, r, v, code, "library", "title.library", p)
}

func (w Libraries) readAdditions(ctx context.Context, r *http.Request, v *pages.Visitor, p *libraryPage) error {
	sum, failed, err := w.countAdditions(ctx, p.ID)
	if err != nil {
		return err
	}
	p.Lately = sum
	if p.Failed, _, err = w.shownAdditions(ctx, r, v, failed); err != nil {
		return err
	}
	tasks, err := w.o.Store.Checks.FilterTasks(ctx, store.TaskFilter{Batch: Additions(p.ID)}, 0, additionsShown)
	if err == nil {
		p.Tasks, p.Busy, err = w.shownAdditions(ctx, r, v, tasks)
	}
	p.Busy = p.Busy || sum.Waiting > 0
	return err
}

func (w Libraries) readShares(ctx context.Context, p *librarySettings) (err error) {
	if p.Partners, err = w.o.Choices.Partners(ctx); err != nil {
		return err
	}
	shares, err := w.o.Store.Answers.Shares(ctx, p.ID, "")
	if err != nil {
		return err
	}
	for _, s := range shares {
		one := libraryShare{s, string(s.Partner)}
		for _, x := range p.Partners {
			if x.Site == s.Partner {
				one.Name = x.Name
			}
		}
		p.Shares = append(p.Shares, one)
	}
	p.Templates, err = w.o.Store.Catalogue.Templates(ctx, p.ID)
	return err
}

// addDocuments queues, for each file, a task that adds its documents to a library.
func (w Libraries) addDocuments(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	l, err := w.library(r.Context(), r)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.o.Intake.TakeAdditions(rw, r, v, l.ID, func(problem string, faults []pages.Fault) {
		w.showLibrary(rw, r, v, http.StatusBadRequest, problem, faults...)
	})
}

// deleteDocument deletes the selected documents, or none if one does not exist.
func (w Libraries) deleteDocument(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	ctx := r.Context()
	l, err := w.library(ctx, r)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	var ids []concordat.DocumentID
	if err == nil && len(r.PostForm["document"]) == 0 {
		w.showLibrary(rw, r, v, http.StatusBadRequest, "library.delete.nothing")
		return
	}
	for _, id := range r.PostForm["document"] {
		if err == nil {
			_, err = w.o.Store.Catalogue.DocumentRow(ctx, l.ID, concordat.DocumentID(id))
			ids = append(ids, concordat.DocumentID(id))
		}
	}
	if err == nil {
		err = w.o.Deletions.EraseSome(ctx, v, r.PostForm.Get("reason"), l.ID, ids...)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, Path(l.ID), http.StatusSeeOther)
}

// changeLibrary changes the policy, shares or wordings of a library, or deletes the library.
func (w Libraries) changeLibrary(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	l, err := w.library(r.Context(), r)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	f, to := r.PostForm, Path(l.ID)+"/settings"
	switch action := f.Get("action"); action {
	case "policy":
		err = w.setPolicy(r.Context(), v, l, f)
	case "share":
		err = w.o.Shares.Open(r.Context(), v, l.ID, f)
	case "unshare":
		err = w.o.Shares.Close(r.Context(), v, l.ID, concordat.SiteID(f.Get("partner")))
	case "wording", "unword":
		name := strings.TrimSpace(f.Get("name"))
		if action == "unword" {
			err = w.DeleteWording(r.Context(), v, l.ID, name)
		} else {
			err = w.PutWording(r.Context(), v, store.Template{Library: l.ID, Name: name, Text: f.Get("text"), Added: w.o.Now(),
				Counts: f.Get("counts") != ""})
		}
		if task := f.Get("check"); task != "" {
			to = "/checks/" + url.PathEscape(task)
		}
	case "delete":
		if f.Get("confirm") != string(l.ID) {
			w.showSettings(rw, r, v, http.StatusBadRequest, "library.confirm")
			return
		}
		to, err = "/deletions", w.DeleteLibrary(r.Context(), v, l, f.Get("reason"))
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// PutWording saves a decision about wording of a library.
func (w Libraries) PutWording(ctx context.Context, v *pages.Visitor, t store.Template) error {
	detail := map[string]any{"library": t.Library, "name": t.Name}
	if t.Counts {
		detail["counts"] = true
	}
	return pages.Change(ctx, w.o.Store, v.Name, "library_wording", detail,
		func(tx *store.DB) error { return tx.Catalogue.PutTemplate(ctx, t) })
}

// DeleteWording withdraws a decision about wording of a library.
func (w Libraries) DeleteWording(ctx context.Context, v *pages.Visitor, lib concordat.LibraryID, name string) error {
	return pages.Change(ctx, w.o.Store, v.Name, "library_unword", map[string]any{"library": lib, "name": name},
		func(tx *store.DB) error { return tx.Catalogue.DeleteTemplate(ctx, lib, name) })
}

// DeleteLibrary deletes a library and its documents. The receipt of the deletion also names the library.
func (w Libraries) DeleteLibrary(ctx context.Context, v *pages.Visitor, l store.Library, reason string) error {
	_, err := w.o.Deletions.Erase(ctx, v, reason, retain.Target{Library: l.ID, Whole: true},
		v.Note("library_delete", map[string]any{"library": l.ID, "documents": l.Documents}))
	return err
}

func (w Libraries) setPolicy(ctx context.Context, v *pages.Visitor, l store.Library, f url.Values) error {
	day := func(name string) (time.Time, error) {
		if f.Get(name) == "" {
			return time.Time{}, nil
		}
		t, err := time.ParseInLocation(time.DateOnly, f.Get(name), time.Local)
		if err != nil {
			return t, message.Invalid("wrong.date", f.Get(name))
		}
		return t, nil
	}
	var err, err2, err3 error
	l.Policy.Forward, l.Policy.Template, l.Policy.Meaning = f.Get("forward"), f.Get("template"), f.Get("meaning")
	l.Title, err = people.Title(f.Get("title"))
	l.Policy.Embargo, err2 = day("embargo")
	l.Policy.Expires, err3 = day("expires")
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	if l.Policy.Template != "" && !slices.Contains(w.o.Choices.Templates(), l.Policy.Template) {
		return message.Invalid("wrong.template", l.Policy.Template)
	}
	return pages.Change(ctx, w.o.Store, v.Name, "library_policy", map[string]any{"library": l.ID}, func(tx *store.DB) error {
		return tx.Catalogue.UpdateLibrary(ctx, l)
	})
}
