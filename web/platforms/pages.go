package platforms

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/reports"
)

// checkRow is a check in the list of a course.
type checkRow struct {
	store.Task
	Report bool // it has a report
}

// onPage is the number of checks in the list of a course.
const onPage = 50

type checksView struct {
	Course   string
	Teacher  bool
	Rows     []checkRow
	MaxMiB   int64
	MaxFiles int
	Problem  string
}

func (d *Tool) checksPage(rw http.ResponseWriter, r *http.Request, s *session) {
	d.showChecks(rw, r, s, http.StatusOK, "")
}

func (d *Tool) showChecks(rw http.ResponseWriter, r *http.Request, s *session, code int, problem string) {
	learner := s.Subject
	if s.Teacher {
		learner = ""
	}
	p := checksView{Course: s.Course, Teacher: s.Teacher, MaxMiB: d.w.Options().MaxUpload >> 20, MaxFiles: pages.MaxFiles, Problem: problem}
	all, err := d.w.Options().Store.LTI.LTIChecks(r.Context(), s.Platform, s.Deployment, s.Context, learner, onPage)
	for _, k := range all {
		if err != nil {
			break
		}
		var t store.Task
		if t, err = d.w.Options().Store.Checks.Task(r.Context(), k.Task); errors.Is(err, concordat.ErrNotFound) {
			err = nil // deleted in the meantime
			continue
		}
		p.Rows = append(p.Rows, checkRow{t, pages.HasReport(t)})
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.w.Show(rw, r, nil, code, "lti_checks", "title.lti", p)
}

// submit accepts files that a person submits within a course.
func (d *Tool) submit(rw http.ResponseWriter, r *http.Request, s *session) {
	u, err := d.w.Intake.Read(rw, r)
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	jobs := u.Jobs
	if text := u.Field("text"); strings.TrimSpace(text) != "" {
		jobs = append(jobs, site.Job{Name: "text", Title: u.Field("title"), Text: strings.ToValidUTF8(text, "\ufffd")})
	}
	if len(jobs) == 0 {
		d.showChecks(rw, r, s, http.StatusBadRequest, "new.nothing")
		return
	}
	learner := s.Subject
	if s.Teacher {
		learner = ""
	}
	ctx := r.Context()
	for _, j := range jobs {
		id := concordat.TaskID(strings.ToLower(rand.Text()))
		err := d.w.Options().Store.LTI.PutLTICheck(ctx, store.LTICheck{Task: id, Platform: s.Platform, Deployment: s.Deployment,
			Context: s.Context,
			Learner: learner, Made: d.w.Options().Now()})
		if err == nil {
			err = d.w.Options().Queue.SubmitAs(ctx, id, pages.PlatformOwner+s.Platform, "", j,
				s.visitor().Note("check_submitted", map[string]any{"task": id, "file": j.File, "context": s.Context}))
		}
		if err != nil {
			d.w.Fail(rw, r, nil, err)
			return
		}
	}
	http.Redirect(rw, r, "/lti/checks", http.StatusSeeOther)
}

// visible returns a check of the course if the visitor may see it; to other visitors it appears not to exist.
func (d *Tool) visible(r *http.Request, s *session) (store.Task, error) {
	id := concordat.TaskID(r.PathValue("id"))
	k, err := d.w.Options().Store.LTI.LTICheck(r.Context(), id)
	if errors.Is(err, concordat.ErrNotFound) { // a part of an archive belongs to the archive's owner
		if whole, _, ok := cutLast(string(id), "-"); ok {
			k, err = d.w.Options().Store.LTI.LTICheck(r.Context(), concordat.TaskID(whole))
		}
	}
	switch {
	case err != nil:
		return store.Task{}, err
	case k.Platform != s.Platform || k.Deployment != s.Deployment || k.Context != s.Context, !s.Teacher && k.Learner != s.Subject:
		return store.Task{}, fmt.Errorf("check %s: %w", id, concordat.ErrNotFound)
	}
	return d.w.Options().Store.Checks.Task(r.Context(), id)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

type checkView struct {
	checkRow
	Rep   *report.Report // nil if there is no report yet
	Parts []checkRow     // checks of the texts in an archive
	Open  bool           // it has not ended
}

func (d *Tool) checkPage(rw http.ResponseWriter, r *http.Request, s *session) {
	t, err := d.visible(r, s)
	p := checkView{checkRow: checkRow{t, pages.HasReport(t)}, Open: !t.State.Ended()}
	if err == nil && p.Report {
		p.Rep, err = d.w.Reports.Current(r.Context(), s.visitor(), t, message.LanguageOf(r).Report())
	}
	if err == nil && t.Cause.Code == store.CauseSplit {
		var parts []store.Task
		parts, _, err = d.parts(r.Context(), t.ID)
		for _, one := range parts {
			p.Parts = append(p.Parts, checkRow{one, pages.HasReport(one)})
		}
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.w.Show(rw, r, nil, http.StatusOK, "lti_check", "title.lti", p)
}

func (d *Tool) reportPage(rw http.ResponseWriter, r *http.Request, s *session) {
	t, err := d.visible(r, s)
	var rep *report.Report
	if err == nil {
		rep, err = d.w.Reports.Current(r.Context(), s.visitor(), t, message.LanguageOf(r).Report())
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	h := rw.Header()
	switch r.URL.Query().Get("format") {
	case "json":
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", reports.Attachment(t, "json"))
		if err := d.w.Reports.WriteJSON(rw, rep); err != nil {
			h.Del("Content-Disposition")
			d.w.Fail(rw, r, nil, err)
			return
		}
	case "csv":
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", reports.Attachment(t, "csv"))
		err = d.w.Reports.WriteCSV(rw, rep, report.CSVOptions{BOM: true})
	default:
		h.Set("Content-Type", "text/html; charset=utf-8")
		d.frame(rw, s.platform, reports.Policy())
		err = d.w.Reports.WriteHTML(rw, rep)
	}
	if err != nil {
		d.w.Options().Logger.Error("report", "task", t.ID, "error", err)
	}
}
