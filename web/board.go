package web

import (
	"html/template"

	"concordat/report/html"
)

// Board returns the summary for a committee, which takes the first two pages when the page of a report is printed.
func (p *checkPage) Board() template.HTML {
	rep := *p.Report
	rep.Review = nil
	if p.Review != nil { // only officers may see what officers wrote
		rep.Review = p.Review.inReport()
	}
	return html.Board(&rep)
}
