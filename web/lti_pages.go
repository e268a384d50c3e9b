package web

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
)

// ltiReportPolicy is that of a report, which brings the stricter policy of its own style and script.
const ltiReportPolicy = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// ltiRow is a check as a course shows it.
type ltiRow struct {
	store.Task
	Report bool // there is one
}

type ltiChecksPage struct {
	Course   string
	Teacher  bool
	Rows     []ltiRow
	MaxMiB   int64
	MaxFiles int
	Problem  string
}

func (d *Tool) checksPage(rw http.ResponseWriter, r *http.Request, s *ltiSession) {
	d.showChecks(rw, r, s, http.StatusOK, "")
}

func (d *Tool) showChecks(rw http.ResponseWriter, r *http.Request, s *ltiSession, code int, problem string) {
	learner := s.Subject
	if s.Teacher {
		learner = ""
	}
	p := ltiChecksPage{Course: s.Course, Teacher: s.Teacher, MaxMiB: d.w.Options().MaxUpload >> 20, MaxFiles: mostFiles, Problem: problem}
	all, err := d.w.Options().Store.LTIChecks(r.Context(), s.Platform, s.Deployment, s.Context, learner, taskPage)
	for _, k := range all {
		if err != nil {
			break
		}
		var t store.Task
		if t, err = d.w.Options().Store.Task(r.Context(), k.Task); errors.Is(err, concordat.ErrNotFound) {
			err = nil // deleted since
			continue
		}
		p.Rows = append(p.Rows, ltiRow{t, hasReport(t)})
	}
	if err != nil {
		d.w.fail(rw, r, nil, err)
		return
	}
	d.w.show(rw, r, nil, code, "lti_checks", "title.lti", p)
}

// submit takes files that somebody hands in within a course.
func (d *Tool) submit(rw http.ResponseWriter, r *http.Request, s *ltiSession) {
	u, err := d.w.checks.read(rw, r)
	if err != nil {
		d.w.fail(rw, r, nil, err)
		return
	}
	jobs := u.jobs
	if text := u.field("text"); strings.TrimSpace(text) != "" {
		jobs = append(jobs, site.Job{Name: "text", Title: u.field("title"), Text: strings.ToValidUTF8(text, "\ufffd")})
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
		err := d.w.Options().Store.PutLTICheck(ctx, store.LTICheck{Task: id, Platform: s.Platform, Deployment: s.Deployment, Context: s.Context,
			Learner: learner, Made: d.w.Options().Now()})
		if err == nil {
			err = d.w.Options().Queue.SubmitAs(ctx, id, ltiOwner+s.Platform, "", j,
				s.visitor().note("check_submitted", map[string]any{"task": id, "file": j.File, "context": s.Context}))
		}
		if err != nil {
			d.w.fail(rw, r, nil, err)
			return
		}
	}
	http.Redirect(rw, r, "/lti/checks", http.StatusSeeOther)
}

// visible returns a check of the course that the visitor may see; else it does not exist for them.
func (d *Tool) visible(r *http.Request, s *ltiSession) (store.Task, error) {
	id := concordat.TaskID(r.PathValue("id"))
	k, err := d.w.Options().Store.LTICheck(r.Context(), id)
	if errors.Is(err, concordat.ErrNotFound) { // a part of an archive belongs to whom the archive does
		if whole, _, ok := cutLast(string(id), "-"); ok {
			k, err = d.w.Options().Store.LTICheck(r.Context(), concordat.TaskID(whole))
		}
	}
	switch {
	case err != nil:
		return store.Task{}, err
	case k.Platform != s.Platform || k.Deployment != s.Deployment || k.Context != s.Context, !s.Teacher && k.Learner != s.Subject:
		return store.Task{}, fmt.Errorf("check %s: %w", id, concordat.ErrNotFound)
	}
	return d.w.Options().Store.Task(r.Context(), id)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

type ltiCheckPage struct {
	ltiRow
	Rep   *report.Report // nil: none, or not yet
	Parts []ltiRow       // of an archive
	Open  bool           // it has not ended
}

func (d *Tool) checkPage(rw http.ResponseWriter, r *http.Request, s *ltiSession) {
	t, err := d.visible(r, s)
	p := ltiCheckPage{ltiRow: ltiRow{t, hasReport(t)}, Open: !ended(t.State)}
	if err == nil && p.Report {
		p.Rep, err = d.w.currentReport(r.Context(), s.visitor(), t, message.LanguageOf(r).Report())
	}
	if err == nil && store.ReadCause(t.Cause).Code == store.CauseSplit {
		var parts []store.Task
		parts, _, err = d.parts(r.Context(), t.ID)
		for _, one := range parts {
			p.Parts = append(p.Parts, ltiRow{one, hasReport(one)})
		}
	}
	if err != nil {
		d.w.fail(rw, r, nil, err)
		return
	}
	d.w.show(rw, r, nil, http.StatusOK, "lti_check", "title.lti", p)
}

func (d *Tool) reportPage(rw http.ResponseWriter, r *http.Request, s *ltiSession) {
	t, err := d.visible(r, s)
	var rep *report.Report
	if err == nil {
		rep, err = d.w.currentReport(r.Context(), s.visitor(), t, message.LanguageOf(r).Report())
	}
	if err != nil {
		d.w.fail(rw, r, nil, err)
		return
	}
	h := rw.Header()
	switch r.URL.Query().Get("format") {
	case "json":
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", attachment(t, "json"))
		if err := d.w.Options().ReportJSON(rw, rep); err != nil {
			h.Del("Content-Disposition")
			d.w.fail(rw, r, nil, err)
			return
		}
	case "csv":
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", attachment(t, "csv"))
		err = d.w.reportCSV(rw, rep, report.CSVOptions{BOM: true})
	default:
		h.Set("Content-Type", "text/html; charset=utf-8")
		d.frame(rw, s.platform, ltiReportPolicy)
		err = d.w.reportHTML(rw, rep)
	}
	if err != nil {
		d.w.Options().Logger.Error("report", "task", t.ID, "error", err)
	}
}
