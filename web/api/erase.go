package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/pages"
)

func (w adminAPI) apiOfDeletions(a huma.API) {
	register(w.api, a, operation{id: "delete", method: http.MethodPost, path: "/deletions",
		needs:   []*huma.Schema{{Required: []string{"tasks"}}, {Required: []string{"documents"}}, {Required: []string{"batches"}}},
		summary: "Permanently delete checks, or documents of a library", scope: scopeErase, roles: pages.Officers, body: bounds.ListsBody,
		text: "Returns the receipt once the bytes are gone from the disk. If a machine of the site is unreachable, the state deleted is returned once the data can no longer be found, and the receipt follows later. Officers delete checks and batches, administrators documents too."}, w.apiErase)
	get := func(id, path, summary string) operation {
		return operation{id: id, method: http.MethodGet, path: path, summary: summary, scope: scopeRead, roles: pages.Overseers}
	}
	register(w.api, a, get("list-deletions", "/deletions", "Receipts of deletions, newest first"), w.apiErasures)
	register(w.api, a, get("get-deletion", "/deletions/{id}", "One receipt"), w.apiErasure)
}

type apiEraseInput struct {
	Body struct {
		Reason    string                 `json:"reason" minLength:"1" maxLength:"10000"`
		Tasks     []concordat.TaskID     `json:"tasks,omitempty" minItems:"1" maxItems:"1000" nullable:"false"`
		Library   concordat.LibraryID    `json:"library,omitempty" minLength:"1" dependentRequired:"documents"`
		Documents []concordat.DocumentID `json:"documents,omitempty" minItems:"1" maxItems:"1000" nullable:"false" dependentRequired:"library"`
		Batches   []string               `json:"batches,omitempty" minItems:"1" maxItems:"100" nullable:"false" doc:"Batches to delete with the checks of their documents"`
	}
}

type apiReceiptOutput struct {
	Body struct {
		ID      string             `json:"id"`
		State   store.ErasureState `json:"state" enum:"asked,deleted,done"`
		Receipt json.RawMessage    `json:"receipt,omitempty" doc:"The receipt, as described in doc/operations.md"`
	}
}

func (w adminAPI) apiErase(ctx context.Context, in *apiEraseInput) (*apiReceiptOutput, error) {
	b := in.Body
	r, err := w.api.Web.Deletions.Erase(ctx, visitorOf(ctx), b.Reason, retain.Target{
		Tasks: b.Tasks, Library: b.Library, Documents: b.Documents,
		Batches: b.Batches})
	if err != nil {
		return nil, err
	}
	return w.apiReceipt(ctx, r.ID)
}

func (w adminAPI) apiReceipt(ctx context.Context, id string) (*apiReceiptOutput, error) {
	e, err := w.api.Web.Options().Store.Retention.Erasure(ctx, id)
	out := &apiReceiptOutput{}
	out.Body.ID, out.Body.State, out.Body.Receipt = e.ID, e.State, e.Receipt
	return out, err
}

type apiErasureInput struct {
	ID string `path:"id" maxLength:"100"`
}

func (w adminAPI) apiErasure(ctx context.Context, in *apiErasureInput) (*apiReceiptOutput, error) {
	return w.apiReceipt(ctx, in.ID)
}

type apiErasuresInput struct {
	Limit  int   `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor int64 `query:"cursor" minimum:"0" doc:"next of the previous page"`
}

type apiErasuresOutput struct {
	Body struct {
		Deletions []view.Deletion `json:"deletions"`
		Next      int64           `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiErasures(ctx context.Context, in *apiErasuresInput) (*apiErasuresOutput, error) {
	es, err := w.api.Web.Options().Store.Retention.Erasures(ctx, in.Cursor, in.Limit)
	out := &apiErasuresOutput{}
	out.Body.Deletions = []view.Deletion{}
	for _, e := range es {
		out.Body.Deletions = append(out.Body.Deletions, view.OfDeletion(e))
	}
	if len(es) == in.Limit {
		out.Body.Next = es[len(es)-1].Seq
	}
	return out, err
}
