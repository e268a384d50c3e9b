package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
)

// apiOfRequests adds the requests for passages between sites.
func (w *Web) apiOfRequests(a huma.API) {
	huma.Register(a, huma.Operation{OperationID: "list-requests", Method: http.MethodGet, Path: apiPrefix + "/requests", Summary: "Requests for passages, from partners and to them, the latest first", Security: scope(scopeRead)}, w.apiRequests)
	huma.Register(a, huma.Operation{OperationID: "get-request", Method: http.MethodGet, Path: apiPrefix + "/requests/{id}", Summary: "One request, with the passages of this site that it is about", Security: scope(scopeRead)}, w.apiRequest)
	huma.Register(a, huma.Operation{OperationID: "decide-request", Method: http.MethodPost, Path: apiPrefix + "/requests/{id}/decision", Summary: "Approve or refuse a partner's request, or withdraw an approval", Security: scope(scopeReview)}, w.apiDecide)
	huma.Register(a, huma.Operation{OperationID: "ask-passages", Method: http.MethodPost, Path: apiPrefix + "/checks/{id}/requests", Summary: "Ask partners to show more of a passage of a report", Security: scope(scopeReview)}, w.apiAsk)
}

// apiOfficer returns for whom a program acts, if that is somebody who decides.
func (w *Web) apiOfficer(ctx context.Context) (*visitor, error) {
	v := visitorOf(ctx)
	if !v.mayReview() {
		return nil, fmt.Errorf("%w: an administrator or officer sees requests", concordat.ErrRefused)
	}
	return v, nil
}

// oneDisclosure is a request for passages as programs see it.
type oneDisclosure struct {
	ID        string               `json:"id"`
	Direction string               `json:"direction" enum:"in,out" doc:"in: a partner asks this site"`
	Partner   concordat.SiteID     `json:"partner"`
	Name      string               `json:"name"`
	Library   concordat.LibraryID  `json:"library,omitempty"`
	Document  concordat.DocumentID `json:"document,omitempty"`
	Title     string               `json:"title,omitempty"`
	Check     concordat.TaskID     `json:"check,omitempty" doc:"Of a request to a partner"`
	Purpose   string               `json:"purpose,omitempty" doc:"Of the partner's check"`
	Reason    string               `json:"reason,omitempty"`
	Contact   string               `json:"contact,omitempty"`
	State     string               `json:"state" enum:"pending,granted,refused,expired,withdrawn"`
	Words     string               `json:"words,omitempty" doc:"Of who decided"`
	Actor     string               `json:"actor,omitempty"`
	Asked     time.Time            `json:"asked"`
	Decided   time.Time            `json:"decided,omitzero"`
	Until     time.Time            `json:"until,omitzero" doc:"When it expires, or the grant ends"`
	Passages  []string             `json:"passages,omitempty" doc:"Of this site's document; of one request only"`
}

func apiOneRequest(r request) oneDisclosure {
	return oneDisclosure{r.ID, r.Direction, r.Partner, r.Name, r.Library, r.Document, r.Title, r.Task, r.Purpose, r.Reason, r.Contact, r.State, r.Words, r.Actor, r.Asked, r.Decided, r.Until, nil}
}

type apiRequestsInput struct {
	State  string `query:"state" enum:"pending,granted,refused,expired,withdrawn" doc:"Only those in this state"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

type apiRequestsOutput struct {
	Body struct {
		Requests []oneDisclosure `json:"requests"`
		Next     string          `json:"next,omitempty" doc:"Cursor of the next page, which of one state may have fewer than the limit"`
	}
}

func (w *Web) apiRequests(ctx context.Context, in *apiRequestsInput) (*apiRequestsOutput, error) {
	out := &apiRequestsOutput{}
	out.Body.Requests = []oneDisclosure{}
	_, err := w.apiOfficer(ctx)
	var all []request
	if err == nil {
		all, out.Body.Next, err = w.requests(ctx, in.State, in.Cursor, in.Limit)
	}
	for _, r := range all {
		out.Body.Requests = append(out.Body.Requests, apiOneRequest(r))
	}
	return out, w.told(err)
}

type apiRequestInput struct {
	ID string `path:"id"`
}

type apiRequestOutput struct{ Body oneDisclosure }

func (w *Web) apiRequest(ctx context.Context, in *apiRequestInput) (*apiRequestOutput, error) {
	v, err := w.apiOfficer(ctx)
	var p requestPage
	if err == nil {
		p, err = w.oneRequest(ctx, in.ID)
	}
	if err != nil {
		return nil, w.told(err)
	}
	w.audit(ctx, v.Name, "request_read", map[string]any{"request": p.ID, "site": p.Partner})
	out := &apiRequestOutput{apiOneRequest(p.request)}
	out.Body.Passages = p.Passages
	return out, nil
}

type apiDecideInput struct {
	ID   string `path:"id"`
	Body struct {
		Action string `json:"action" enum:"approve,refuse,withdraw"`
		Words  string `json:"words,omitempty" doc:"For the partner; needed unless it is approved"`
	}
}

func (w *Web) apiDecide(ctx context.Context, in *apiDecideInput) (*apiRequestOutput, error) {
	v, err := w.apiOfficer(ctx)
	if err == nil {
		_, err = w.decideRequest(ctx, v, in.ID, in.Body.Action, in.Body.Words)
	}
	if err != nil {
		return nil, w.told(err)
	}
	return w.apiRequest(ctx, &apiRequestInput{in.ID})
}

type apiAskInput struct {
	ID   string `path:"id"`
	Body struct {
		Start   int              `json:"start" minimum:"0" doc:"Where the passage begins, in code points of the submission"`
		End     int              `json:"end" minimum:"1"`
		Partner concordat.SiteID `json:"partner,omitempty" doc:"Ask only this one"`
		Level   concordat.Show   `json:"level" enum:"overlap,passage" doc:"overlap: the words in common, at once; passage: the partner's words, after a person there agreed"`
		Reason  string           `json:"reason,omitempty"`
		Contact string           `json:"contact,omitempty"`
		Refresh bool             `json:"refresh,omitempty" doc:"Ask only how what waits stands"`
	}
}

type apiAskOutput struct {
	Body struct {
		Requests []report.Disclosure `json:"requests"`
	}
}

func (w *Web) apiAsk(ctx context.Context, in *apiAskInput) (*apiAskOutput, error) {
	out := &apiAskOutput{}
	out.Body.Requests = []report.Disclosure{}
	v, err := w.apiOfficer(ctx)
	if err != nil {
		return nil, w.told(err)
	}
	t, err := w.visible(ctx, v, concordat.TaskID(in.ID))
	if err != nil {
		return nil, w.told(err)
	}
	if !hasReport(t) {
		return nil, w.told(fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound))
	}
	f, err := w.o.Site.Findings(ctx, t.ID)
	if err != nil {
		return nil, w.told(err)
	}
	at := report.NewCounter(f.Submission.Text).Bytes(concordat.Span{Start: in.Body.Start, End: in.Body.End})
	ds, err := w.askFor(ctx, v, t, askPassages{at, in.Body.Partner, in.Body.Level, in.Body.Reason, in.Body.Contact, in.Body.Refresh})
	out.Body.Requests = append(out.Body.Requests, ds...)
	return out, w.told(err)
}
