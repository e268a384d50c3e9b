package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
	"concordat/web/pages"
)

// apiOfPages adds the operations on pages of originals.
func (w api) apiOfPages(a huma.API) {
	register(w, a, operation{id: "get-page", method: http.MethodGet, path: "/checks/{id}/pages/{page}",
		summary: "A page of the submission, with a passage marked",
		text:    "Only files in PDF, DOCX and ODT that are still kept have pages, and DOCX and ODT only if LibreOffice is installed. Page 0 is the page on which the passage begins.", scope: scopeRead, roles: pages.Everyone},
		w.apiPage)
}

type apiPageInput struct {
	ID      string `path:"id"`
	Page    int    `path:"page" minimum:"0" doc:"Number of the page, from 1; 0: the page on which the passage begins"`
	Passage int    `query:"passage" minimum:"0" doc:"Passage of the report to mark, from 1; 0: none"`
}

type apiPageOutput struct {
	Body struct {
		Page   int       `json:"page"`
		Pages  int       `json:"pages"`
		Width  float64   `json:"width" doc:"Width in points"`
		Height float64   `json:"height" doc:"Height in points"`
		Begins int       `json:"begins" doc:"Page on which the passage begins; 0: none, or not found"`
		Sure   bool      `json:"sure" doc:"false: the passage could not be located with certainty, so nothing is marked"`
		Marks  []apiMark `json:"marks" doc:"Where the passage is on this page"`
		Image  []byte    `json:"image" doc:"The page as a PNG"`
	}
}

// apiMark is a rectangle on a page, in points from the upper left corner.
type apiMark struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

func (w api) apiPage(ctx context.Context, in *apiPageInput) (*apiPageOutput, error) {
	v := visitorOf(ctx)
	k := ""
	if in.Passage > 0 {
		k = strconv.Itoa(in.Passage)
	}
	s, err := w.Web.Reports.ShownPassage(ctx, v, concordat.TaskID(in.ID), k, report.English)
	if err != nil {
		return nil, err
	}
	n := in.Page
	if n == 0 {
		at, err := s.Find(ctx, 0)
		if err != nil {
			return nil, err
		}
		n = max(at.Page, 1)
	}
	at, err := s.Find(ctx, n)
	if err != nil {
		return nil, err
	}
	p, err := s.Page(ctx, n)
	if err != nil {
		return nil, err
	}
	var out apiPageOutput
	b := &out.Body
	b.Page, b.Pages, b.Width, b.Height, b.Begins, b.Sure, b.Image = p.Number, p.Pages, p.Width, p.Height, at.Page, at.Sure, p.PNG
	b.Marks = make([]apiMark, len(at.Marks))
	for i, m := range at.Marks {
		b.Marks[i] = apiMark(m)
	}
	return &out, nil
}
