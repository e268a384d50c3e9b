package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/site/retain"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/web/pages/cases"
)

// casesAPI serves the operations on cases shared with partners.
type casesAPI struct{ cases cases.Cases }

// apiOfCases adds the operations on shared cases.
func apiOfCases(w api, a huma.API) {
	c := casesAPI{w.Web.Cases}
	register(w, a, operation{id: "list-cases", method: http.MethodGet, path: "/cases",
		summary: "Cases that this site shares with partners, latest first", scope: scopeRead, roles: pages.Officers}, c.list)
	register(w, a, operation{id: "get-case", method: http.MethodGet, path: "/cases/{id}", summary: "One case", scope: scopeRead,
		roles: pages.Officers}, c.one)
	register(w, a, operation{id: "move-case", method: http.MethodPost, path: "/cases/{id}",
		summary: "Send the partner this site's position or decision", scope: scopeReview, roles: pages.Officers,
		text: "A decision deletes the text and the fingerprints of this site's own document, unless keep is set."}, c.move)
}

type casesInput struct {
	bounds.PageInput
	Open bool `query:"open" doc:"Only cases that the two sites have not settled"`
}

type casesOutput struct {
	Body struct {
		Cases []view.Case `json:"cases" nullable:"false"`
		Next  string      `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (c casesAPI) list(ctx context.Context, in *casesInput) (*casesOutput, error) {
	out := &casesOutput{}
	before := int64(0)
	if err := listOfCases.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	all, next, err := c.cases.List(ctx, in.Open, before, in.Limit)
	out.Body.Cases = append([]view.Case{}, all...)
	if next > 0 {
		out.Body.Next = listOfCases.Cursor(next)
	}
	return out, err
}

type caseInput struct {
	ID string `path:"id"`
}

type caseOutput struct{ Body view.Case }

func (c casesAPI) one(ctx context.Context, in *caseInput) (*caseOutput, error) {
	x, err := c.cases.One(ctx, in.ID)
	return &caseOutput{x}, err
}

type moveCaseInput struct {
	ID   string `path:"id"`
	Body struct {
		State    concordat.CaseState    `json:"state,omitempty" enum:"open,confirmed,cleared" doc:"This site's position; absent: unchanged"`
		Words    string                 `json:"words,omitempty" maxLength:"1000" doc:"Message to the partner"`
		Contact  string                 `json:"contact,omitempty" maxLength:"300" doc:"Contact for the partner; absent: unchanged"`
		Decision concordat.CaseDecision `json:"decision,omitempty" enum:"accepted,rejected,withdrawn" doc:"Decision about this site's own document, made once"`
		Keep     bool                   `json:"keep,omitempty" doc:"Delete nothing after the decision"`
	}
}

func (c casesAPI) move(ctx context.Context, in *moveCaseInput) (*caseOutput, error) {
	b := in.Body
	x, err := c.cases.Move(ctx, visitorOf(ctx), in.ID, retain.CaseMove{State: b.State, Words: b.Words, Contact: b.Contact,
		Decision: b.Decision, Keep: b.Keep})
	return &caseOutput{x}, err
}
