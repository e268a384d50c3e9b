package daemon

import (
	"context"
	"io"

	"concordat/instance"
	"concordat/instance/signing"
	"concordat/report"
	"concordat/report/pdf"
)

// maxPDFs is the maximum number of PDF reports created at the same time, since a long report takes about 100 MB.
const maxPDFs = 2

// pdfWriter returns the function that writes a report for a browser.
func pdfWriter(o *instance.Instance, sign *signing.Source) func(context.Context, io.Writer, *report.Report, bool) error {
	turn := make(chan struct{}, maxPDFs)
	return func(ctx context.Context, w io.Writer, rep *report.Report, comments bool) error {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
		var notes []pdf.Note
		if comments {
			var err error
			if notes, err = signing.Notes(ctx, o.Store, rep.Task); err != nil {
				return err
			}
		}
		return sign.WritePDF(w, rep, signing.PagesOf(o.Now(), instance.Version(), notes))
	}
}
