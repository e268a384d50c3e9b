// Package reports serves the pages for reading the report of a check, next to its sources or in the layout of its original, for changing
// its rules and for reviewing it. Learning platforms and the API share how it is read and written to files. Cache keeps recently read
// reports, and New adds the pages.
package reports

import (
	"html/template"
	"time"

	"concordat/site"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/alerts"
	"concordat/web/pages/checks"
	"concordat/web/progress"
	"concordat/web/review"
)

// Pieces renders parts of pages. It is safe for concurrent use.
type Pieces interface {
	// Piece executes a template that is defined in the file of a page.
	Piece(in message.Language, page, name string, data any) (template.HTML, error)
}

// Options configures the pages. All fields except Originals are required.
type Options struct {
	Site      *site.Site
	Auditor   pages.Auditor
	Cache     *Cache
	Tasks     checks.Control
	Reviews   *review.Reviews
	Alerts    alerts.Alerts
	Progress  *progress.Reader
	Pieces    Pieces
	Files     Writer
	Originals Originals // if nil, no pages of submitted files are shown
	MayDelete bool      // the pages can delete permanently
	MayAsk    bool      // partners can be asked for passages
	Now       func() time.Time
}

// Reports serves the pages for reading a report, changing its rules and reviewing it.
type Reports struct {
	pages.Auditor
	frame     pages.Frame
	o         Options
	submitted submitted
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Reports {
	w := Reports{o.Auditor, frame, o, submitted{o.Originals}}
	frame.AddPage("GET /checks/{id}", pages.Everyone, w.checkPage)
	frame.AddPage("GET /checks/{id}/report", pages.Everyone, w.reportPage)
	frame.AddPage("POST /checks/{id}/rules", pages.Officers, w.changeRules)
	frame.AddPage("POST /checks/{id}/notes", pages.Officers, w.addNote)
	frame.AddPage("POST /checks/{id}/library", pages.Officers, w.changeLibrary)
	frame.AddPage("GET /checks/{id}/text/{page}", pages.Everyone, w.textPart)
	frame.AddPage("GET /checks/{id}/sources", pages.Everyone, w.sourcesPage)
	frame.AddPage("GET /checks/{id}/changes", pages.Everyone, w.changesPart)
	frame.AddPage("GET /checks/{id}/passages/{number}", pages.Everyone, w.passagePage)
	frame.AddPage("GET /checks/{id}/compare", pages.Everyone, w.comparePage)
	frame.AddPage("GET /checks/{id}/pages", pages.Everyone, w.layoutPage)
	frame.AddPage("GET /checks/{id}/pages/{n}", pages.Everyone, w.leafPicture)
	return w
}
