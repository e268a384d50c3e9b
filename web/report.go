package web

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

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

// Visible returns a check that the visitor may see.
func (w *Web) Visible(ctx context.Context, v *Visitor, id concordat.TaskID) (store.Task, error) {
	return w.Tasks.Visible(ctx, v, id)
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
	got, err := w.Cache.Reading(ctx, t.ID, now.Rules, in, see)
	if err != nil {
		return nil, err
	}
	w.Cache.NoteRead(ctx, v, t.ID, false)
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
		if err := w.WriteJSON(rw, rep); err != nil {
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
		err = w.WriteCSV(rw, rep, report.CSVOptions{BOM: true})
	default:
		err = w.Send(rw, rep)
	}
	if err != nil {
		w.o.Logger.Error("report", "task", t.ID, "error", err)
	}
}

// ReportPolicy returns the Content-Security-Policy of a report page, which allows the report's own style and script, and no frame around
// it.
func ReportPolicy() string { return html.Policy() + "; frame-ancestors 'none'" }

// Send answers with a report as a self-contained page, signed if the site has keys.
func (w reportPages) Send(rw http.ResponseWriter, rep *report.Report) error {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("Content-Security-Policy", ReportPolicy())
	return w.WriteHTML(rw, rep)
}

// WriteHTML writes a report as a self-contained page, signed if the site has keys.
func (w reportPages) WriteHTML(to io.Writer, rep *report.Report) error {
	return w.o.ReportFiles.WriteFile(to, formHTML, func(to io.Writer) error { return html.Write(to, rep) })
}

// WriteCSV writes a report as a table, signed if the site has keys.
func (w reportPages) WriteCSV(to io.Writer, rep *report.Report, o report.CSVOptions) error {
	return w.o.ReportFiles.WriteFile(to, formCSV, func(to io.Writer) error { return report.WriteCSV(to, rep, o) })
}

// WriteJSON writes a report in JSON, signed if the site has keys. If it fails, it has written nothing or the reader has disconnected.
func (w reportPages) WriteJSON(to io.Writer, rep *report.Report) error {
	return w.o.ReportFiles.WriteJSON(to, rep)
}

// Attachment sets the file name of a download (RFC 6266, section 4); it does not contain the name of the reported document.
func Attachment(t store.Task, ending string) string {
	return "attachment; filename*=UTF-8''" + url.PathEscape(pages.CleanName(t.Title)+".report."+ending)
}
