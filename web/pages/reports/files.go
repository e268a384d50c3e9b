package reports

import (
	"context"
	"io"

	"concordat/report"
	"concordat/report/pdf"
)

// Writer writes reports to files, signed if the site has keys. It is safe for concurrent use.
type Writer interface {
	// WriteJSON writes a report in JSON. If it fails, it has written nothing or the reader has disconnected.
	WriteJSON(w io.Writer, rep *report.Report) error
	// WriteFile writes a report in HTML or CSV using write.
	WriteFile(w io.Writer, form Form, write func(io.Writer) error) error
	// WritePDF writes a report as a PDF, with or without reviewers' comments. If it fails, it has written nothing or the reader has
	// disconnected.
	WritePDF(ctx context.Context, w io.Writer, rep *report.Report, comments bool) error
}

// Form is the format of a report file: html or csv.
type Form string

// The formats for Writer.WriteFile.
const (
	formHTML Form = "html"
	formCSV  Form = "csv"
)

// Unsigned writes reports without signatures, and PDFs without comments.
type Unsigned struct{}

var _ Writer = Unsigned{}

// WriteJSON implements Writer.
func (Unsigned) WriteJSON(w io.Writer, rep *report.Report) error { return report.WriteJSON(w, rep) }

// WriteFile implements Writer.
func (Unsigned) WriteFile(w io.Writer, _ Form, write func(io.Writer) error) error {
	return write(w)
}

// WritePDF implements Writer.
func (Unsigned) WritePDF(_ context.Context, w io.Writer, rep *report.Report, _ bool) error {
	b, err := pdf.Write(rep, pdf.Options{})
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
