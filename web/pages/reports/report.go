package reports

import (
	"context"
	"fmt"
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

// task returns the requested task if the visitor may see it; to other visitors it appears not to exist.
func (w Reports) task(r *http.Request, v *pages.Visitor) (store.Task, error) {
	return w.o.Tasks.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
}

// Current returns the report under the current rules, with the decisions about it, and records the reader.
func (w Reports) Current(ctx context.Context, v *pages.Visitor, t store.Task, in report.Language) (*report.Report, error) {
	if !pages.HasReport(t) {
		return nil, fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	now, err := w.o.Reviews.Of(ctx, t)
	if err != nil {
		return nil, err
	}
	got, err := w.Seen(ctx, v, t.ID, now, in, false)
	if err != nil {
		return nil, err
	}
	rep := *got
	if w.o.Reviews.Sees(v, now) == review.SeeEverything {
		rep.Review = now.InReport() // only officers may see what officers wrote
	}
	if v.MayReview() { // alerts are for officers
		if rep.Later, err = site.Later(ctx, w.Store, t.ID); err != nil {
			return nil, err
		}
	}
	return &rep, nil
}

// Seen returns the part of a report that the visitor may see, under the rules of its review, and records the reader; part is true for a
// part of a longer answer.
func (w Reports) Seen(ctx context.Context, v *pages.Visitor, id concordat.TaskID, now *review.Review, in report.Language,
	part bool) (*report.Report, error) {
	got, err := w.o.Cache.Reading(ctx, id, now.Rules, in, w.o.Reviews.Sees(v, now))
	if err != nil {
		return nil, err
	}
	w.o.Cache.NoteRead(ctx, v, id, part)
	return got.Report, nil
}

func (w Reports) reportPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := w.task(r, v)
	var rep *report.Report
	if err == nil {
		rep, err = w.Current(r.Context(), v, t, message.LanguageOf(r).Report())
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	h := rw.Header()
	switch r.URL.Query().Get("format") {
	case "json":
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", Attachment(t, "json"))
		if err := w.WriteJSON(rw, rep); err != nil {
			h.Del("Content-Disposition")
			w.frame.Fail(rw, r, v, err)
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
		w.Logger.Error("report", "task", t.ID, "error", err)
	}
}

// Policy returns the Content-Security-Policy of a report page, which allows the report's own style and script, and no frame around
// it.
func Policy() string { return html.Policy() + "; frame-ancestors 'none'" }

// Send answers with a report as a self-contained page, signed if the site has keys.
func (w Reports) Send(rw http.ResponseWriter, rep *report.Report) error {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("Content-Security-Policy", Policy())
	return w.WriteHTML(rw, rep)
}

// WriteHTML writes a report as a self-contained page, signed if the site has keys.
func (w Reports) WriteHTML(to io.Writer, rep *report.Report) error {
	return w.o.Files.WriteFile(to, formHTML, func(to io.Writer) error { return html.Write(to, rep) })
}

// WriteCSV writes a report as a table, signed if the site has keys.
func (w Reports) WriteCSV(to io.Writer, rep *report.Report, o report.CSVOptions) error {
	return w.o.Files.WriteFile(to, formCSV, func(to io.Writer) error { return report.WriteCSV(to, rep, o) })
}

// WriteJSON writes a report in JSON, signed if the site has keys. If it fails, it has written nothing or the reader has disconnected.
func (w Reports) WriteJSON(to io.Writer, rep *report.Report) error {
	return w.o.Files.WriteJSON(to, rep)
}

// Attachment sets the file name of a download (RFC 6266, section 4); it does not contain the name of the reported document.
func Attachment(t store.Task, ending string) string {
	return "attachment; filename*=UTF-8''" + url.PathEscape(pages.CleanName(t.Title)+".report."+ending)
}
