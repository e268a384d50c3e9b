package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
	"concordat/site/batch"
	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/web/pages/intake"
)

// batchesAPI has the operations about batches, their pairs and their repetition.
type batchesAPI struct{ api api }

func (w batchesAPI) apiOfBatches(a huma.API) {
	get := func(id, path, summary string) operation {
		return operation{id: id, method: http.MethodGet, path: path, summary: summary, scope: scopeRead, roles: pages.Everyone}
	}
	do := func(id, method, path, summary string, roles []store.Role) operation {
		return operation{id: id, method: method, path: path, summary: summary, scope: scopeCheck, roles: roles}
	}
	register(w.api, a, get("list-batches", "/batches", "Batches, newest first"), w.apiBatches)
	register(w.api, a, get("get-batch", "/batches/{id}", "One batch with its documents"), w.apiBatch)
	register(w.api, a, get("list-batch-pairs", "/batches/{id}/pairs", "Pairs of a batch, largest share first"), w.apiPairs)
	register(w.api, a, get("list-batch-clusters", "/batches/{id}/clusters", "Clusters of a batch, largest first"), w.apiClusters)
	register(w.api, a, get("list-batch-wording", "/batches/{id}/wording",
		"Wording in at least three documents of a batch, counted wording first"), w.apiBatchWording)
	count := do("count-batch-wording", http.MethodPut, "/batches/{id}/wording/{n}",
		"Count shared wording in the reports of its documents, or stop counting it", pages.Officers)
	count.needs = []*huma.Schema{{Required: []string{"comment"}}, {Properties: map[string]*huma.Schema{"count": {Enum: []any{false}}}}}
	register(w.api, a, count, w.apiCountBatchWording)
	register(w.api, a, get("list-batch-leads", "/batches/{id}/leads",
		"Leads between documents of a batch, undecided ones first, and statements found in three or more documents"), w.apiBatchLeads)
	lead := do("decide-batch-lead", http.MethodPost, "/batches/{id}/leads",
		"Count a lead in the reports of both documents, set it aside, or withdraw the decision", pages.Officers)
	lead.needs = []*huma.Schema{{Required: []string{"comment"}}, {Properties: map[string]*huma.Schema{"state": {Enum: []any{"open"}}}}}
	register(w.api, a, lead, w.apiDecideBatchLead)
	register(w.api, a, do("cancel-batch", http.MethodPost, "/batches/{id}/cancel", "Cancel a batch that has not ended", pages.Checkers),
		w.apiCancelBatch)
	register(w.api, a, do("repeat-batch", http.MethodPost, "/batches/{id}/again",
		"Check a batch against the libraries again, or resume one that failed", pages.Checkers), w.apiRepeatBatch)
	register(w.api, a, do("set-batch-lineage", http.MethodPut, "/batches/{id}/lineage", "Set which pairs of a batch do not count",
		pages.Officers), w.apiLineage)
	register(w.api, a, do("decide-batch-pair", http.MethodPut, "/batches/{id}/pairs/{a}/{b}", "Decide whether a pair of a batch counts",
		pages.Officers),
		w.apiPairVerdict)
	register(w.api, a, get("list-rechecks", "/rechecks", "Scheduled re-checks, and what they found"), w.apiRechecks)
	again := do("set-recheck", http.MethodPut, "/rechecks/{kind}/{target}", "Schedule a re-check of a check or a batch", pages.Checkers)
	again.needs = []*huma.Schema{need(nil, "on"), {Properties: map[string]*huma.Schema{"every": {Minimum: new(1.0)}}}}
	register(w.api, a, again,
		w.apiSetRecheck)
	drop := do("delete-recheck", http.MethodDelete, "/rechecks/{kind}/{target}", "Cancel a scheduled re-check", pages.Checkers)
	drop.status = http.StatusNoContent
	registerEmpty(w.api, a, drop, w.apiDropRecheck)
	names := &huma.Schema{Type: "array", Items: &huma.Schema{Type: "string"}}
	form := &huma.Schema{Type: "object", AdditionalProperties: false, Required: []string{"file"}, Properties: map[string]*huma.Schema{
		"file": filesOf("Documents, or ZIP files of them"),
		"manifest": {Type: "string",
			Description: "Table (CSV or tab-separated) that describes the files: file, title, author, group, draft_of, date"},
		"title": {Type: "string", Description: "Name of the batch"},
		"threshold": {Type: "number", ExclusiveMinimum: new(0.0), Maximum: new(100.0),
			Description: "Minimum share of either document, in per cent, for a pair to join a cluster; 30 if left out"},
		"library":  names,
		"partner":  names,
		"purpose":  {Type: "string", Description: "Purpose stated to partners"},
		"alone":    {Type: "string", Description: "Not empty: compare the documents only with one another"},
		"template": {Type: "string", Description: "Section template; empty: the one that all named libraries share; none: no template"},
	}}
	w.api.stream(a, operation{id: "submit-batch", method: http.MethodPost, path: "/batches",
		summary: "Submit documents to be compared with one another", scope: scopeCheck, roles: pages.Checkers, status: http.StatusAccepted},
		func(o *huma.Operation) {
			o.Parameters = []*huma.Param{{Name: "Idempotency-Key", In: "header",
				Description: "The same key with the same body within a day returns the same answer", Schema: &huma.Schema{Type: "string"}}}
			o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: form,
				Encoding: map[string]*huma.Encoding{"manifest": {ContentType: "text/csv"}}}}}
			o.Responses = map[string]*huma.Response{"202": answers("The batch", "application/json", schemaOf[view.Batch](a))}
		}, w.apiSubmitBatch)
}

type apiBatchesOutput struct {
	Body struct {
		Batches []view.Batch `json:"batches"`
		Next    string       `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w batchesAPI) apiBatches(ctx context.Context, in *bounds.PageInput) (*apiBatchesOutput, error) {
	before := int64(0)
	if err := listOfBatches.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	bs, err := w.api.Web.Options().Store.Batches.Batches(ctx, visitorOf(ctx).OwnOnly(), before, in.Limit)
	out := &apiBatchesOutput{}
	out.Body.Batches = []view.Batch{}
	for _, b := range bs {
		out.Body.Batches = append(out.Body.Batches, view.OfBatch(b))
	}
	if len(bs) == in.Limit {
		out.Body.Next = listOfBatches.Cursor(bs[len(bs)-1].Seq)
	}
	return out, err
}

type apiBatchOutput struct {
	Body struct {
		view.Batch
		Threshold float64            `json:"threshold" doc:"Minimum share of either document for a pair to join a cluster"`
		Lineage   batch.LineageRules `json:"lineage" doc:"Which pairs do not count"`
		Documents []batch.MemberLine `json:"documents"`
	}
}

func (w batchesAPI) apiBatch(ctx context.Context, in *apiCheckInput) (*apiBatchOutput, error) {
	v, _, err := w.api.Web.Batches.SeenBatch(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := &apiBatchOutput{}
	out.Body.Batch, out.Body.Threshold, out.Body.Lineage, out.Body.Documents = view.OfBatch(v.Batch), v.Job.PairThreshold(), v.Rules,
		v.MemberLines()
	return out, nil
}

type apiPairsInput struct {
	ID     string `path:"id"`
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" default:"500"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"next of the previous page; empty: the first page"`
}

type apiPairsOutput struct {
	Body struct {
		Pairs []batch.PairLine `json:"pairs"`
		Next  string           `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w batchesAPI) apiPairs(ctx context.Context, in *apiPairsInput) (*apiPairsOutput, error) {
	from := 0
	if err := listOfPairs.Read(in.Cursor, &from); err != nil {
		return nil, err
	}
	v, err := w.api.Web.Batches.PairsOf(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	all := v.PairLines()
	from = min(from, len(all))
	to := min(from+in.Limit, len(all))
	out := &apiPairsOutput{}
	if out.Body.Pairs = all[from:to]; to < len(all) {
		out.Body.Next = listOfPairs.Cursor(to)
	}
	return out, nil
}

type apiClustersOutput struct {
	Body struct {
		Clusters []batch.ClusterLine `json:"clusters"`
	}
}

func (w batchesAPI) apiClusters(ctx context.Context, in *apiCheckInput) (*apiClustersOutput, error) {
	v, err := w.api.Web.Batches.PairsOf(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := &apiClustersOutput{}
	out.Body.Clusters = v.ClusterLines()
	return out, nil
}

// apiChange changes a batch and returns it.
func (w batchesAPI) apiChange(ctx context.Context, id string, do func(context.Context, *pages.Visitor, store.Batch) error) (*apiBatchOutput,
	error) {
	v := visitorOf(ctx)
	b, err := w.api.Web.Batches.VisibleBatch(ctx, v, id)
	if err == nil {
		err = do(ctx, v, b)
	}
	if err != nil {
		return nil, err
	}
	return w.apiBatch(ctx, &apiCheckInput{ID: id})
}

func (w batchesAPI) apiCancelBatch(ctx context.Context, in *apiCheckInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, w.api.Web.Batches.StopBatch)
}

func (w batchesAPI) apiRepeatBatch(ctx context.Context, in *apiCheckInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, w.api.Web.Batches.RepeatBatch)
}

type apiLineageInput struct {
	ID   string `path:"id"`
	Body batch.LineageRules
}

var errReviewers = fmt.Errorf("%w: only officers and administrators can decide this", concordat.ErrRefused)

func (w batchesAPI) apiLineage(ctx context.Context, in *apiLineageInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		if !v.MayReview() {
			return errReviewers
		}
		return w.api.Web.Batches.ApplyLineage(ctx, v, b, in.Body)
	})
}

type apiPairVerdictInput struct {
	ID   string `path:"id"`
	A    string `path:"a" doc:"Number of a document, from 1"`
	B    string `path:"b"`
	Body struct {
		Verdict string `json:"verdict" enum:"count,discount,rules"`
		Reason  string `json:"reason,omitempty"`
	}
}

func (w batchesAPI) apiPairVerdict(ctx context.Context, in *apiPairVerdictInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		if !v.MayReview() {
			return errReviewers
		}
		return w.api.Web.Batches.ApplyVerdict(ctx, v, b, in.A, in.B, in.Body.Verdict, in.Body.Reason)
	})
}

type apiRechecksOutput struct {
	Body struct {
		Rechecks []view.Recheck `json:"rechecks"`
	}
}

func (w batchesAPI) apiRechecks(ctx context.Context, _ *struct{}) (*apiRechecksOutput, error) {
	all, err := w.api.Web.Batches.Rechecks(ctx, visitorOf(ctx))
	out := &apiRechecksOutput{}
	out.Body.Rechecks = []view.Recheck{}
	for _, r := range all {
		out.Body.Rechecks = append(out.Body.Rechecks, view.OfRecheck(r.Recheck, r.Title, r.New))
	}
	return out, err
}

type apiRecheckPath struct {
	Kind   string `path:"kind" enum:"check,batch"`
	Target string `path:"target"`
}

type apiSetRecheckInput struct {
	Kind   string `path:"kind" enum:"check,batch"`
	Target string `path:"target"`
	Body   struct {
		Every int    `json:"every" minimum:"0" maximum:"3650" doc:"Days between repetitions; 0: once, on the given day"`
		On    string `json:"on,omitempty" format:"date" doc:"First day, YYYY-MM-DD; absent: after the number of days"`
	}
}

func (w batchesAPI) apiSetRecheck(ctx context.Context, in *apiSetRecheckInput) (*apiRechecksOutput, error) {
	if err := w.api.Web.Batches.PutRecheck(ctx, visitorOf(ctx), in.Kind, in.Target, in.Body.Every, in.Body.On); err != nil {
		return nil, err
	}
	return w.apiRechecks(ctx, nil)
}

func (w batchesAPI) apiDropRecheck(ctx context.Context, in *apiRecheckPath) (*struct{}, error) {
	return nil, w.api.Web.Batches.DropRecheck(ctx, visitorOf(ctx), in.Kind, in.Target)
}

// apiSubmitBatch accepts a submitBatch form, once for each Idempotency-Key.
func (w batchesAPI) apiSubmitBatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) error {
	u, err := w.api.Web.Intake.ReadUpload(rw, r, v)
	if err != nil {
		return err
	}
	answer, err := intake.Once(r.Context(), w.api.Web.Options().Store, v, r.Header.Get("Idempotency-Key"), []any{"batch", u.Jobs, u.Fields},
		func() (*view.Batch, error) {
			id, err := w.api.Web.Intake.HandBatch(r.Context(), v, u)
			if err != nil {
				return nil, err
			}
			b, err := w.api.Web.Options().Store.Batches.Batch(r.Context(), id)
			if err != nil {
				return nil, err
			}
			line := view.OfBatch(b)
			return &line, nil
		})
	if err != nil {
		w.api.Web.Intake.Lose(r.Context(), v, u)
		return err
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(rw).Encode(answer) // a disconnected caller can repeat the request with its key
	return nil
}

type apiWordingsOutput struct {
	Body struct {
		Wording []batch.WordingLine `json:"wording"`
	}
}

func (w batchesAPI) apiBatchWording(ctx context.Context, in *apiCheckInput) (*apiWordingsOutput, error) {
	v, err := w.api.Web.Batches.PairsOf(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := &apiWordingsOutput{}
	out.Body.Wording, err = batch.WordingLines(ctx, w.api.Web.Options().Site, v)
	return out, err
}

type apiCountBatchInput struct {
	ID   string `path:"id"`
	N    string `path:"n" doc:"Number of the wording, from 1"`
	Body struct {
		Count   bool   `json:"count" doc:"true: count it; false: stop counting it"`
		Comment string `json:"comment,omitempty" maxLength:"10000" pattern:"\\S" doc:"Why it counts"`
	}
}

func (w batchesAPI) apiCountBatchWording(ctx context.Context, in *apiCountBatchInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		if !v.MayReview() {
			return errReviewers
		}
		return w.api.Web.Batches.ApplyWording(ctx, v, b, in.N, in.Body.Count, in.Body.Comment)
	})
}

type apiBatchLeadsInput struct {
	ID string `path:"id"`
	LeadsInput
}

type apiBatchLeadsOutput struct {
	Body struct {
		Asked bool             `json:"asked" doc:"Whether the batch looked for leads"`
		Total int              `json:"total" doc:"Number of all leads, whatever the filter"`
		Leads []batch.LeadLine `json:"leads"`
		Many  []batch.ManyLine `json:"many" doc:"Statements found in three or more documents, which are not leads"`
	}
}

func (w batchesAPI) apiBatchLeads(ctx context.Context, in *apiBatchLeadsInput) (*apiBatchLeadsOutput, error) {
	v, err := w.api.Web.Batches.PairsOf(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	leads, err := v.Leads(ctx, w.api.Web.Options().Store, w.api.Web.Options().Current.Rules())
	if err != nil {
		return nil, err
	}
	out := &apiBatchLeadsOutput{}
	out.Body.Total, out.Body.Asked, out.Body.Many = len(leads.Leads), v.Job.Leads, v.ManyLines(leads)
	f := in.filter()
	leads.Leads = slices.DeleteFunc(leads.Leads, func(l batch.ViewedLead) bool { return !f.Has(l.Lead(), l.State) })
	out.Body.Leads = v.LeadLines(leads)
	return out, nil
}

type apiDecideBatchLeadInput struct {
	ID   string `path:"id"`
	Body struct {
		A       int              `json:"number_a" minimum:"1" doc:"Number of the lead's first document"`
		B       int              `json:"number_b" minimum:"1" doc:"Number of the lead's second document"`
		Span    concordat.Span   `json:"span" doc:"Span of the lead in the first document, in code points"`
		Source  concordat.Span   `json:"source_span" doc:"Span of the lead in the second document, in code points"`
		State   report.LeadState `json:"state" enum:"open,counted,set_aside"`
		Comment string           `json:"comment,omitempty" maxLength:"10000" pattern:"\\S" doc:"Reason for the decision"`
	}
}

func (w batchesAPI) apiDecideBatchLead(ctx context.Context, in *apiDecideBatchLeadInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, func(ctx context.Context, v *pages.Visitor, b store.Batch) error {
		if !v.MayReview() {
			return errReviewers
		}
		return w.api.Web.Batches.ApplyLead(ctx, v, b, strconv.Itoa(in.Body.A), strconv.Itoa(in.Body.B), concordat.Span(in.Body.Span),
			concordat.Span(in.Body.Source), in.Body.State, in.Body.Comment)
	})
}
