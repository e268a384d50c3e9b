package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
	"concordat/view"
	"concordat/web/pages"
	"concordat/web/pages/requests"
)

// requestsAPI has the operations about partners' requests to read passages, and about asking partners.
type requestsAPI struct{ api api }

// apiOfRequests adds the operations on requests for passages.
func (w requestsAPI) apiOfRequests(a huma.API) {
	register(w.api, a, operation{id: "list-requests", method: http.MethodGet, path: "/requests",
		summary: "Requests for passages, from partners and to them, latest first", scope: scopeRead, roles: pages.Officers}, w.apiRequests)
	register(w.api, a, operation{id: "get-request", method: http.MethodGet, path: "/requests/{id}",
		summary: "One request, with the passages of this site that it concerns", scope: scopeRead, roles: pages.Officers}, w.apiRequest)
	register(w.api, a, operation{id: "decide-request", method: http.MethodPost, path: "/requests/{id}/decision",
		needs:   []*huma.Schema{need(nil, "words"), need(map[string]any{"action": "approve"})},
		summary: "Approve or refuse a partner's request, or withdraw an approval", scope: scopeReview, roles: pages.Officers}, w.apiDecide)
	register(w.api, a, operation{id: "ask-passages", method: http.MethodPost, path: "/checks/{id}/requests",
		needs: []*huma.Schema{need(nil, "reason", "contact"), need(map[string]any{"level": concordat.ShowOverlap}),
			need(map[string]any{"refresh": true})},
		summary: "Ask partners to show more of a passage of a report", scope: scopeReview, roles: pages.Officers}, w.apiAsk)
}

func apiOneRequest(r requests.Request) view.Request {
	return view.OfRequest(r.Disclosure, r.Name, r.Title, r.Purpose, r.Task)
}

type apiRequestsInput struct {
	State  string `query:"state" enum:"pending,granted,refused,expired,withdrawn" doc:"Only requests in this state"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" doc:"next of the previous page"`
}

type apiRequestsOutput struct {
	Body struct {
		Requests []view.Request `json:"requests"`
		Next     string         `json:"next,omitempty" doc:"Cursor of the next page; with a state filter, a page may have fewer entries than the limit"`
	}
}

func (w requestsAPI) apiRequests(ctx context.Context, in *apiRequestsInput) (*apiRequestsOutput, error) {
	out := &apiRequestsOutput{}
	out.Body.Requests = []view.Request{}
	var all []requests.Request
	var err error
	all, out.Body.Next, err = w.api.Web.Requests.List(ctx, in.State, in.Cursor, in.Limit)
	for _, r := range all {
		out.Body.Requests = append(out.Body.Requests, apiOneRequest(r))
	}
	return out, err
}

type apiRequestInput struct {
	ID string `path:"id"`
}

type apiRequestOutput struct{ Body view.Request }

func (w requestsAPI) apiRequest(ctx context.Context, in *apiRequestInput) (*apiRequestOutput, error) {
	p, err := w.api.Web.Requests.One(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	w.api.Web.Audit(ctx, visitorOf(ctx).Name, "request_read", map[string]any{"request": p.ID, "site": p.Partner})
	out := &apiRequestOutput{apiOneRequest(p.Request)}
	out.Body.Passages = p.Passages
	return out, nil
}

type apiDecideInput struct {
	ID   string `path:"id"`
	Body struct {
		Action string `json:"action" enum:"approve,refuse,withdraw"`
		Words  string `json:"words,omitempty" doc:"Message to the partner; required unless the request is approved"`
	}
}

func (w requestsAPI) apiDecide(ctx context.Context, in *apiDecideInput) (*apiRequestOutput, error) {
	_, err := w.api.Web.Requests.Decide(ctx, visitorOf(ctx), in.ID, in.Body.Action, in.Body.Words)
	if err != nil {
		return nil, err
	}
	return w.apiRequest(ctx, &apiRequestInput{in.ID})
}

type apiAskInput struct {
	ID   string `path:"id"`
	Body struct {
		Start   int              `json:"start" minimum:"0" doc:"Start of the passage, in code points of the submission"`
		End     int              `json:"end" minimum:"1" doc:"End of the passage, in code points of the submission"`
		Partner concordat.SiteID `json:"partner,omitempty" doc:"Ask only this partner"`
		Level   concordat.Show   `json:"level" enum:"overlap,passage" doc:"overlap: the shared words, at once; passage: the partner's text, once a person there has agreed"`
		Reason  string           `json:"reason,omitempty"`
		Contact string           `json:"contact,omitempty"`
		Lead    string           `json:"lead,omitempty" maxLength:"12" doc:"Number of a partner's document that may say the same thing, such as P1: requests its places, with level passage; start and end are ignored"`
		Refresh bool             `json:"refresh,omitempty" doc:"Only ask the partner about pending requests"`
	}
}

type apiAskOutput struct {
	Body struct {
		Requests []report.Disclosure `json:"requests"`
	}
}

func (w requestsAPI) apiAsk(ctx context.Context, in *apiAskInput) (*apiAskOutput, error) {
	out := &apiAskOutput{}
	out.Body.Requests = []report.Disclosure{}
	v := visitorOf(ctx)
	t, err := w.api.reported(ctx, v, in.ID)
	if err != nil {
		return nil, err
	}
	f, err := w.api.Web.Options().Site.Findings(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	at := report.NewCounter(f.Submission.Text).Bytes(concordat.Span{Start: in.Body.Start, End: in.Body.End})
	ds, err := w.api.Web.Requests.Ask(ctx, v, t, requests.Passages{At: at, Lead: in.Body.Lead, Partner: in.Body.Partner, Level: in.Body.Level,
		Reason: in.Body.Reason, Contact: in.Body.Contact, Refresh: in.Body.Refresh})
	out.Body.Requests = append(out.Body.Requests, ds...)
	return out, err
}
