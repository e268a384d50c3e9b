package daemon

import (
	"context"
	"io"

	"concordat/instance"
	"concordat/instance/signing"
	"concordat/report"
	"concordat/report/pdf"
	"concordat/web/pages/reports"
)

// maxPDFs is the maximum number of PDF reports created at the same time, since a long report takes about 100 MB.
const maxPDFs = 2

// reportWriter writes reports for browsers and programs, signed if the site has keys.
type reportWriter struct {
	o    *instance.Instance
	sign *signing.Source
	turn chan struct{} // holds one element for each PDF that is being created
}

var _ reports.Writer = reportWriter{}

func newReportWriter(o *instance.Instance, sign *signing.Source) reportWriter {
	return reportWriter{o, sign, make(chan struct{}, maxPDFs)}
}

// WriteJSON implements reports.Writer.
func (f reportWriter) WriteJSON(w io.Writer, rep *report.Report) error {
	return f.sign.WriteJSON(w, rep)
}

// WriteFile implements reports.Writer.
func (f reportWriter) WriteFile(w io.Writer, form reports.Form, write func(io.Writer) error) error {
	return f.sign.WriteFile(w, signing.Form(form), write)
}

// WritePDF implements reports.Writer.
func (f reportWriter) WritePDF(ctx context.Context, w io.Writer, rep *report.Report, comments bool) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var notes []pdf.Note
	if comments {
		var err error
		if notes, err = signing.Notes(ctx, f.o.Store, rep.Task); err != nil {
			return err
		}
	}
	return f.sign.WritePDF(w, rep, signing.PagesOf(f.o.Live.Now(), instance.Version(), notes))
}
