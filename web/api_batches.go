package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/site"
	"concordat/store"
)

func (w *Web) apiOfBatches(a huma.API) {
	at := func(path string) string { return apiPrefix + "/batches" + path }
	huma.Register(a, huma.Operation{OperationID: "list-batches", Method: http.MethodGet, Path: at(""), Summary: "Batches, newest first", Security: scope(scopeRead)}, w.apiBatches)
	huma.Register(a, huma.Operation{OperationID: "get-batch", Method: http.MethodGet, Path: at("/{id}"), Summary: "One batch with its documents", Security: scope(scopeRead)}, w.apiBatch)
	huma.Register(a, huma.Operation{OperationID: "list-batch-pairs", Method: http.MethodGet, Path: at("/{id}/pairs"), Summary: "Pairs of a batch, largest share first", Security: scope(scopeRead)}, w.apiPairs)
	huma.Register(a, huma.Operation{OperationID: "list-batch-clusters", Method: http.MethodGet, Path: at("/{id}/clusters"), Summary: "Clusters of a batch, largest first", Security: scope(scopeRead)}, w.apiClusters)
	huma.Register(a, huma.Operation{OperationID: "cancel-batch", Method: http.MethodPost, Path: at("/{id}/cancel"), Summary: "Cancel a batch that has not ended", Security: scope(scopeCheck)}, w.apiCancelBatch)
	huma.Register(a, huma.Operation{OperationID: "repeat-batch", Method: http.MethodPost, Path: at("/{id}/again"), Summary: "Check a batch against the libraries again, or go on with one that failed", Security: scope(scopeCheck)}, w.apiRepeatBatch)
	huma.Register(a, huma.Operation{OperationID: "set-batch-lineage", Method: http.MethodPut, Path: at("/{id}/lineage"), Summary: "Set which pairs do not count", Security: scope(scopeCheck)}, w.apiLineage)
	huma.Register(a, huma.Operation{OperationID: "decide-batch-pair", Method: http.MethodPut, Path: at("/{id}/pairs/{a}/{b}"), Summary: "Decide whether a pair counts", Security: scope(scopeCheck)}, w.apiVerdict)
	huma.Register(a, huma.Operation{OperationID: "list-rechecks", Method: http.MethodGet, Path: apiPrefix + "/rechecks", Summary: "What is checked again, and what that found", Security: scope(scopeRead)}, w.apiRechecks)
	huma.Register(a, huma.Operation{OperationID: "set-recheck", Method: http.MethodPut, Path: apiPrefix + "/rechecks/{kind}/{target}", Summary: "Have a check or a batch done again", Security: scope(scopeCheck)}, w.apiSetRecheck)
	huma.Register(a, huma.Operation{OperationID: "delete-recheck", Method: http.MethodDelete, Path: apiPrefix + "/rechecks/{kind}/{target}", Summary: "Do not check again", Security: scope(scopeCheck), DefaultStatus: http.StatusNoContent}, w.apiDropRecheck)
	w.mux.HandleFunc("POST "+at(""), w.apiSubmitBatch)
	text := func(description string) *huma.Response { return &huma.Response{Description: description} }
	names := &huma.Schema{Type: "array", Items: &huma.Schema{Type: "string"}}
	form := &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
		"file":      {Type: "array", Items: &huma.Schema{Type: "string", Format: "binary"}, Description: "Documents, or ZIP files of them"},
		"manifest":  {Type: "string", Description: "Table (CSV or tabs) of what is known of the files: file, title, author, group, draft_of, date"},
		"title":     {Type: "string", Description: "Name of the batch"},
		"threshold": {Type: "number", Description: "Share of either document, in per cent, from which a pair joins a cluster; 30 if left out"},
		"library":   names,
		"partner":   names,
		"purpose":   {Type: "string", Description: "Told to partners"},
		"alone":     {Type: "string", Description: "Not empty: compare with no library"},
		"template":  {Type: "string", Description: "Section template"},
	}}
	a.OpenAPI().AddOperation(&huma.Operation{OperationID: "submit-batch", Method: http.MethodPost, Path: at(""), Summary: "Hand in documents to be compared with one another",
		Security:    scope(scopeCheck),
		Parameters:  []*huma.Param{{Name: "Idempotency-Key", In: "header", Description: "The same key with the same body within a day gives the same answer", Schema: &huma.Schema{Type: "string"}}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: form}}},
		Responses:   map[string]*huma.Response{"202": text("The batch, as list-batches has it"), "default": text("A problem (RFC 9457)")}})
}

// apiBatchLine is a batch as programs see it.
type apiBatchLine struct {
	ID       string          `json:"id"`
	State    concordat.State `json:"state" enum:"queued,running,done,partial,failed"`
	Title    string          `json:"title"`
	Cause    string          `json:"cause,omitempty" doc:"Why it failed, or what could not be read"`
	Owner    string          `json:"owner"`
	Stage    string          `json:"stage,omitempty" enum:"batch_read,batch_compare,batch_check"`
	Done     int             `json:"done" doc:"Of the stage"`
	Total    int             `json:"total"`
	Round    int             `json:"round" doc:"How often it was compared with the libraries"`
	Made     time.Time       `json:"made"`
	Finished time.Time       `json:"finished,omitzero"`
}

func batchLine(b store.Batch) apiBatchLine {
	return apiBatchLine{b.ID, b.State, b.Title, b.Cause, b.Owner, b.Stage, b.Done, b.Total, b.Round, b.Made, b.Finished}
}

type apiBatchesOutput struct {
	Body struct {
		Batches []apiBatchLine `json:"batches"`
		Next    string         `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w *Web) apiBatches(ctx context.Context, in *apiChecksInput) (*apiBatchesOutput, error) {
	before := int64(0)
	if in.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(in.Cursor, 36, 64); err != nil || before < 1 {
			return nil, w.told(fmt.Errorf("cursor %q: %w", in.Cursor, concordat.ErrInvalid))
		}
	}
	bs, err := w.o.Store.Batches(ctx, ownerOf(visitorOf(ctx)), before, in.Limit)
	out := &apiBatchesOutput{}
	out.Body.Batches = []apiBatchLine{}
	for _, b := range bs {
		out.Body.Batches = append(out.Body.Batches, batchLine(b))
	}
	if len(bs) == in.Limit {
		out.Body.Next = strconv.FormatInt(bs[len(bs)-1].Seq, 36)
	}
	return out, w.told(err)
}

type apiBatchOutput struct {
	Body struct {
		apiBatchLine
		Threshold float64           `json:"threshold" doc:"Share of either document from which a pair joins a cluster"`
		Lineage   site.LineageRules `json:"lineage" doc:"Which pairs do not count"`
		Documents []site.MemberLine `json:"documents"`
	}
}

// viewOf returns what a batch that the caller may see has found so far.
func (w *Web) viewOf(ctx context.Context, id string) (*site.BatchView, error) {
	b, err := w.visibleBatch(ctx, visitorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return site.ViewBatch(ctx, w.o.Store, b.ID)
}

func (w *Web) apiBatch(ctx context.Context, in *apiCheckInput) (*apiBatchOutput, error) {
	v, err := w.viewOf(ctx, in.ID)
	if err != nil {
		return nil, w.told(err)
	}
	out := &apiBatchOutput{}
	out.Body.apiBatchLine, out.Body.Threshold, out.Body.Lineage, out.Body.Documents = batchLine(v.Batch), v.Job.PairThreshold(), v.Rules, v.MemberLines()
	return out, nil
}

type apiPairsInput struct {
	ID     string `path:"id"`
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" default:"500"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

type apiPairsOutput struct {
	Body struct {
		Pairs []site.PairLine `json:"pairs"`
		Next  string          `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w *Web) apiPairs(ctx context.Context, in *apiPairsInput) (*apiPairsOutput, error) {
	from := 0
	if in.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(in.Cursor); err != nil || from < 0 {
			return nil, w.told(fmt.Errorf("cursor %q: %w", in.Cursor, concordat.ErrInvalid))
		}
	}
	v, err := w.viewOf(ctx, in.ID)
	if err != nil {
		return nil, w.told(err)
	}
	all := v.PairLines()
	from = min(from, len(all))
	to := min(from+in.Limit, len(all))
	out := &apiPairsOutput{}
	if out.Body.Pairs = all[from:to]; to < len(all) {
		out.Body.Next = strconv.Itoa(to)
	}
	return out, nil
}

type apiClustersOutput struct {
	Body struct {
		Clusters []site.ClusterLine `json:"clusters"`
	}
}

func (w *Web) apiClusters(ctx context.Context, in *apiCheckInput) (*apiClustersOutput, error) {
	v, err := w.viewOf(ctx, in.ID)
	if err != nil {
		return nil, w.told(err)
	}
	out := &apiClustersOutput{}
	out.Body.Clusters = v.ClusterLines()
	return out, nil
}

// apiChange does something to a batch and returns it.
func (w *Web) apiChange(ctx context.Context, id string, do func(context.Context, *visitor, store.Batch) error) (*apiBatchOutput, error) {
	v := visitorOf(ctx)
	b, err := w.visibleBatch(ctx, v, id)
	if err == nil {
		err = do(ctx, v, b)
	}
	if err != nil {
		return nil, w.told(err)
	}
	return w.apiBatch(ctx, &apiCheckInput{ID: id})
}

func (w *Web) apiCancelBatch(ctx context.Context, in *apiCheckInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, w.stopBatch)
}

func (w *Web) apiRepeatBatch(ctx context.Context, in *apiCheckInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, w.repeatBatch)
}

type apiLineageInput struct {
	ID   string `path:"id"`
	Body site.LineageRules
}

var errReviewers = fmt.Errorf("%w: an officer or an administrator decides that", concordat.ErrRefused)

func (w *Web) apiLineage(ctx context.Context, in *apiLineageInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, func(ctx context.Context, v *visitor, b store.Batch) error {
		if !v.mayReview() {
			return errReviewers
		}
		return w.applyLineage(ctx, v, b, in.Body)
	})
}

type apiVerdictInput struct {
	ID   string `path:"id"`
	A    string `path:"a" doc:"Number of a document, from 1"`
	B    string `path:"b"`
	Body struct {
		Verdict string `json:"verdict" enum:"count,discount,rules"`
		Reason  string `json:"reason,omitempty"`
	}
}

func (w *Web) apiVerdict(ctx context.Context, in *apiVerdictInput) (*apiBatchOutput, error) {
	return w.apiChange(ctx, in.ID, func(ctx context.Context, v *visitor, b store.Batch) error {
		if !v.mayReview() {
			return errReviewers
		}
		return w.applyVerdict(ctx, v, b, in.A, in.B, in.Body.Verdict, in.Body.Reason)
	})
}

// apiRecheck is what is done again as programs see it.
type apiRecheck struct {
	Kind   string             `json:"kind" enum:"check,batch"`
	Target string             `json:"target" doc:"The check or the batch"`
	Title  string             `json:"title"`
	Every  int                `json:"every" doc:"Days; 0: once"`
	Next   time.Time          `json:"next,omitzero"`
	Ran    time.Time          `json:"ran,omitzero" doc:"When it was done last"`
	Latest string             `json:"latest,omitempty" doc:"The newest check; empty: the target itself"`
	New    []site.FreshSource `json:"new" doc:"Sources that the latest run was the first to find"`
}

type apiRechecksOutput struct {
	Body struct {
		Rechecks []apiRecheck `json:"rechecks"`
	}
}

func (w *Web) apiRechecks(ctx context.Context, _ *struct{}) (*apiRechecksOutput, error) {
	all, err := w.rechecks(ctx, visitorOf(ctx))
	out := &apiRechecksOutput{}
	out.Body.Rechecks = []apiRecheck{}
	for _, r := range all {
		one := apiRecheck{r.Kind, r.Target, r.Title, r.Every, r.Next, r.Ran, r.Latest, r.New}
		if one.New == nil {
			one.New = []site.FreshSource{}
		}
		out.Body.Rechecks = append(out.Body.Rechecks, one)
	}
	return out, w.told(err)
}

type apiRecheckPath struct {
	Kind   string `path:"kind" enum:"check,batch"`
	Target string `path:"target"`
}

type apiSetRecheckInput struct {
	Kind   string `path:"kind" enum:"check,batch"`
	Target string `path:"target"`
	Body   struct {
		Every int    `json:"every" minimum:"0" maximum:"3650" doc:"Days; 0: once, on the day"`
		On    string `json:"on,omitempty" doc:"First day, YYYY-MM-DD; empty: after so many days"`
	}
}

func (w *Web) apiSetRecheck(ctx context.Context, in *apiSetRecheckInput) (*apiRechecksOutput, error) {
	if err := w.putRecheck(ctx, visitorOf(ctx), in.Kind, in.Target, in.Body.Every, in.Body.On); err != nil {
		return nil, w.told(err)
	}
	return w.apiRechecks(ctx, nil)
}

func (w *Web) apiDropRecheck(ctx context.Context, in *apiRecheckPath) (*struct{}, error) {
	return nil, w.told(w.dropRecheck(ctx, visitorOf(ctx), in.Kind, in.Target))
}

// apiSubmitBatch takes what submitBatch takes, once for each Idempotency-Key.
func (w *Web) apiSubmitBatch(rw http.ResponseWriter, r *http.Request) {
	v, err := w.caller(r, scopeCheck)
	if err != nil {
		w.problem(rw, err)
		return
	}
	err = w.mayUpload(rw, r, v)
	var u *upload
	if err == nil {
		u, err = w.read(rw, r)
	}
	var answer string
	if err == nil {
		answer, err = w.batchOnce(r.Context(), v, u, r.Header.Get("Idempotency-Key"))
	}
	if err != nil {
		w.problem(rw, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprint(rw, answer) // a caller that went away asks again with its key
}

func (w *Web) batchOnce(ctx context.Context, v *visitor, u *upload, key string) (string, error) {
	submit := func() (string, error) {
		id, err := w.handBatch(ctx, v, u)
		if err != nil {
			return "", err
		}
		b, err := w.o.Store.Batch(ctx, id)
		if err != nil {
			return "", err
		}
		data, err := json.Marshal(batchLine(b))
		return string(data), err
	}
	if len(key) > 255 {
		return "", fmt.Errorf("Idempotency-Key of %d bytes, at most 255: %w", len(key), concordat.ErrInvalid)
	}
	if key == "" {
		return submit()
	}
	asked, err := json.Marshal([]any{"batch", u.jobs, u.fields})
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(asked)
	answer, err := w.o.Store.BeginOnce(ctx, v.Name, key, hex.EncodeToString(h[:]))
	if errors.Is(err, concordat.ErrInvalid) {
		return "", errKey
	}
	if err != nil || answer != "" {
		return answer, err
	}
	answer, err = submit()
	// Kept even if the caller went away: it will ask again.
	return answer, errors.Join(err, w.o.Store.EndOnce(context.WithoutCancel(ctx), v.Name, key, answer))
}
