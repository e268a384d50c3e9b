package web

import (
	"context"
	"io"
	"net/http"

	"concordat/report"
	"concordat/report/pdf"
	"concordat/store"
)

// plainPDF writes the pages of a report, unsigned.
func plainPDF(_ context.Context, w io.Writer, rep *report.Report, _ bool) error {
	b, err := pdf.Write(rep, pdf.Options{})
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// pdfWriter sets the type of the answer with the first byte, so that an error before it can still be told.
type pdfWriter struct{ http.ResponseWriter }

func (w pdfWriter) Write(b []byte) (int, error) {
	w.Header().Set("Content-Type", "application/pdf")
	return w.ResponseWriter.Write(b)
}

// WritePDF writes the report with the comments on it, if the visitor sees those.
func (w reportPages) WritePDF(rw http.ResponseWriter, r *http.Request, v *Visitor, rep *report.Report) error {
	now, err := w.Review(r.Context(), rep.Task)
	if err != nil {
		return err
	}
	return w.o.ReportPDF(r.Context(), pdfWriter{rw}, rep, w.Sees(v, now) == SeeEverything)
}

// pdf answers with the report as a PDF file.
func (w reportPages) pdf(rw http.ResponseWriter, r *http.Request, v *Visitor, t store.Task, rep *report.Report) {
	rw.Header().Set("Content-Disposition", Attachment(t, "pdf"))
	if err := w.WritePDF(rw, r, v, rep); err != nil {
		rw.Header().Del("Content-Disposition")
		w.Fail(rw, r, v, err)
	}
}
