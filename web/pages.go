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
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
)

// Originals renders the pages of submitted files. Files are named by the hash of their content,
// as store.Files has them.
type Originals interface {
	// Paged reports whether the file is kept and has pages that can be shown.
	Paged(ctx context.Context, file string) bool
	// Find returns where a span of the file's text is on its pages, with its marks on page n only; n 0: none. It is not sure if
	// the page does not show the text as it was read.
	Find(ctx context.Context, file, text string, span concordat.Span, n int) (Found, error)
	// Page returns page n, from 1, or concordat.ErrNotFound.
	Page(ctx context.Context, file string, n int) (*OriginalPage, error)
}

// Found is the location of a passage in its original.
type Found struct {
	Page  int  // on which it begins, from 1; 0: nowhere
	Sure  bool // it is that passage, as far as its letters show
	Marks []Mark
}

// Mark is a place on a page, in points from its upper left corner.
type Mark struct{ X, Y, Width, Height float64 }

// OriginalPage is one page as people see it.
type OriginalPage struct {
	Number, Pages int
	Width, Height float64 // points
	PNG           []byte
}

// pagesRoutes adds the pages of originals.
func (w *Web) pagesRoutes() {
	w.AddPage("GET /checks/{id}/pages", Everyone, w.findPage)
	w.AddPage("GET /checks/{id}/pages/{n}", Everyone, w.originalPage)
}

// originals returns the files of a submission, in order. File is empty if the file has no pages: it was pasted text, has
// another format, or is not kept. If none has pages, originals fails with concordat.ErrNotFound.
func (w *Web) originals(ctx context.Context, t store.Task) ([]site.Part, error) {
	var j site.Job
	if w.o.Originals != nil && len(t.Request) > 0 && json.Unmarshal(t.Request, &j) == nil {
		parts := j.Parts
		if len(parts) == 0 {
			parts = []site.Part{{Name: j.Name, File: j.File}}
		}
		for i, p := range parts {
			if p.File != "" && !w.o.Originals.Paged(ctx, p.File) {
				parts[i].File = ""
			}
		}
		if slices.ContainsFunc(parts, func(p site.Part) bool { return p.File != "" }) {
			return parts, nil
		}
	}
	return nil, fmt.Errorf("original of %s: %w", t.ID, concordat.ErrNotFound)
}

// originalOf returns the file of a submission in which a passage begins, and the file's stretch of the report's text. ok is
// false if the file has no pages, or if it cannot be determined: the members of an archive are not files of their own.
func originalOf(parts []site.Part, rep *report.Report, passage concordat.Span) (file string, own concordat.Span, ok bool) {
	if len(parts) == 1 {
		return parts[0].File, concordat.Span{End: len(rep.Submission.Text)}, parts[0].File != ""
	}
	same := map[string]int{} // sections of a name until then
	for _, s := range rep.Sections {
		if passage.Start < s.Span.Start || s.Span.End <= passage.Start {
			same[s.Name]++
			continue
		}
		name := s.Name + "\n\n"
		if !strings.HasPrefix(s.Span.In(rep.Submission.Text), name) { // a part of the text, no file: a file stands below its name
			return "", own, false
		}
		for _, p := range parts {
			if p.Name != s.Name {
				continue
			}
			if same[s.Name]--; same[s.Name] < 0 {
				return p.File, concordat.Span{Start: s.Span.Start + len(name), End: s.Span.End}, p.File != ""
			}
		}
	}
	return "", own, false
}

// originalLink is the link to the passage of an index on the page of its original; empty: there is none.
func (p *checkPage) originalLink(i int) string {
	if _, _, ok := originalOf(p.originals, p.Report, p.Report.Evidence[i].Span); !ok {
		return ""
	}
	return "/checks/" + url.PathEscape(string(p.ID)) + "/pages?passage=" + p.Report.Number(i)
}

// ShownPassage is a request for a page with a passage marked.
type shownPassage struct {
	task    store.Task
	File    string
	own     concordat.Span // of the report's text: the file's
	several bool           // files in the submission
	rep     *report.Report
	passage int // its index, from 1; 0: none
}

// number is the number of the passage; empty: none.
func (s shownPassage) number() string {
	if s.passage == 0 {
		return ""
	}
	return s.rep.Number(s.passage - 1)
}

// ShownPassage returns what the visitor asks to see of a task: passage k, or "" for none. It records who has looked at the
// original.
func (w *Web) ShownPassage(ctx context.Context, v *Visitor, id concordat.TaskID, k string, in report.Language) (s shownPassage, err error) {
	if s.task, err = w.Visible(ctx, v, id); err != nil {
		return s, err
	}
	parts, err := w.originals(ctx, s.task)
	if err != nil {
		return s, err
	}
	s.several = len(parts) > 1
	if k == "" {
		s.File = parts[slices.IndexFunc(parts, func(p site.Part) bool { return p.File != "" })].File
	} else {
		if s.rep, err = w.CurrentReport(ctx, v, s.task, in); err != nil {
			return s, err
		}
		if s.passage = s.rep.Numbered(k) + 1; s.passage < 1 {
			return s, fmt.Errorf("passage %q: %w", k, concordat.ErrNotFound)
		}
		var ok bool
		if s.File, s.own, ok = originalOf(parts, s.rep, s.rep.Evidence[s.passage-1].Span); !ok {
			return s, fmt.Errorf("original of passage %q: %w", k, concordat.ErrNotFound)
		}
	}
	w.Audit(ctx, v.Name, "original_read", map[string]any{"task": s.task.ID})
	return s, nil
}

// shownByPage is ShownPassage for a request of a page.
func (w *Web) shownByPage(r *http.Request, v *Visitor) (shownPassage, error) {
	return w.ShownPassage(r.Context(), v, concordat.TaskID(r.PathValue("id")), r.URL.Query().Get("passage"), message.LanguageOf(r).Report())
}

// Find returns where the passage is, with its marks on page n; zero without a passage.
func (w *Web) Find(ctx context.Context, s shownPassage, n int) (Found, error) {
	if s.passage == 0 {
		return Found{}, nil
	}
	e := s.rep.Evidence[s.passage-1].Span
	e = concordat.Span{Start: max(e.Start, s.own.Start) - s.own.Start, End: min(e.End, s.own.End) - s.own.Start}
	if e.End <= e.Start { // it is the name of the file
		return Found{}, nil
	}
	return w.o.Originals.Find(ctx, s.File, s.own.In(s.rep.Submission.Text), e, n)
}

// findPage redirects to the page on which a passage begins.
func (w *Web) findPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	s, err := w.shownByPage(r, v)
	var at Found
	if err == nil {
		at, err = w.Find(r.Context(), s, 0)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	to := url.URL{Path: fmt.Sprintf("/checks/%s/pages/%d", s.task.ID, max(at.Page, 1))}
	if s.passage > 0 {
		to.RawQuery, to.Fragment = "passage="+s.number(), "mark"
	}
	http.Redirect(rw, r, to.String(), http.StatusSeeOther)
}

// originalView is a page of an original for the template.
type originalView struct {
	*OriginalPage
	Task    concordat.TaskID
	Name    string // of the submission
	Picture string // its address
	Passage string // its number; empty: none
	Text    string // of the passage
	Found   Found
	Back    string // to the passage in the report
}

// Query returns the query string of the passage, for links to other pages of the original; empty: no passage is shown.
func (v originalView) Query() string {
	if v.Passage == "" {
		return ""
	}
	return "?passage=" + v.Passage
}

// originalPage shows page n with the passage marked, or only its picture if n ends in .png.
func (w *Web) originalPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	name, picture := strings.CutSuffix(r.PathValue("n"), ".png")
	n, err := strconv.Atoi(name)
	if err != nil {
		err = fmt.Errorf("page %q: %w", name, concordat.ErrNotFound)
	}
	var s shownPassage
	if err == nil {
		s, err = w.shownByPage(r, v)
	}
	var p *OriginalPage
	if err == nil {
		p, err = w.o.Originals.Page(r.Context(), s.File, n)
	}
	if err == nil && picture {
		rw.Header().Set("Content-Type", "image/png")
		_, _ = rw.Write(p.PNG) // a disconnected browser misses nothing
		return
	}
	view := originalView{OriginalPage: p, Task: s.task.ID, Name: s.task.Title, Passage: s.number()}
	if err == nil {
		view.Found, err = w.Find(r.Context(), s, n)
	}
	if err != nil {
		if errors.Is(err, concordat.ErrNotFound) && picture {
			http.NotFound(rw, r)
			return
		}
		w.Fail(rw, r, v, err)
		return
	}
	view.Picture = fmt.Sprintf("/checks/%s/pages/%d.png", s.task.ID, n)
	if s.several { // the passage determines the file
		view.Picture += view.Query()
	}
	view.Back = "/checks/" + string(s.task.ID)
	if s.passage > 0 {
		view.Text = s.rep.Evidence[s.passage-1].Span.In(s.rep.Submission.Text)
		view.Back += "/passages/" + s.number()
	}
	w.Show(rw, r, v, http.StatusOK, "pages", "title.original", view)
}
