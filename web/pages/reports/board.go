package reports

import (
	"html/template"

	"concordat/report/html"
)

// Board returns the summary for a committee; in a printed report, it is the first two pages.
func (p *checkPage) Board() template.HTML {
	rep := *p.Report
	rep.Review = nil
	if p.Review != nil { // only officers may see what officers wrote
		rep.Review = p.Review.InReport()
	}
	return html.Board(&rep)
}
