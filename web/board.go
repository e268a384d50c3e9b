package web

import (
	"html/template"

	"concordat/report/html"
)

// Board is the summary for a committee: the two pages with which the page of a report begins on paper.
func (p *checkPage) Board() template.HTML {
	rep := *p.Report
	rep.Review = nil
	if p.Review != nil { // what officers wrote is theirs
		rep.Review = p.Review.inReport()
	}
	return html.Board(&rep)
}
