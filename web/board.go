package web

import (
	"html/template"

	"concordat/report/html"
)

// Board is the summary for a committee: the first two pages when the page of a report is printed.
func (p *checkPage) Board() template.HTML {
	rep := *p.Report
	rep.Review = nil
	if p.Review != nil { // what officers wrote is only for them
		rep.Review = p.Review.inReport()
	}
	return html.Board(&rep)
}
