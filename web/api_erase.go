package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/site"
	"concordat/store"
)

func (w *Web) apiOfDeletions(a huma.API) {
	huma.Register(a, huma.Operation{OperationID: "delete", Method: http.MethodPost, Path: apiPrefix + "/deletions", Summary: "Delete checks, or documents of a library, for good",
		Description: "Answers once the bytes are gone from the disk, with the receipt. Officers delete checks, administrators documents too.",
		Security:    scope(scopeErase)}, w.apiErase)
	huma.Register(a, huma.Operation{OperationID: "list-deletions", Method: http.MethodGet, Path: apiPrefix + "/deletions", Summary: "Receipts of deletions, newest first",
		Description: "For administrators and auditors.", Security: scope(scopeRead)}, w.apiErasures)
	huma.Register(a, huma.Operation{OperationID: "get-deletion", Method: http.MethodGet, Path: apiPrefix + "/deletions/{id}", Summary: "One receipt",
		Description: "For administrators and auditors.", Security: scope(scopeRead)}, w.apiErasure)
}

type apiEraseInput struct {
	Body struct {
		Reason    string                 `json:"reason" minLength:"1" maxLength:"10000"`
		Tasks     []concordat.TaskID     `json:"tasks,omitempty" maxItems:"1000"`
		Library   concordat.LibraryID    `json:"library,omitempty"`
		Documents []concordat.DocumentID `json:"documents,omitempty" maxItems:"1000"`
		Batches   []string               `json:"batches,omitempty" maxItems:"100" doc:"With the checks of their documents"`
	}
}

type apiReceiptOutput struct {
	Body struct {
		ID      string             `json:"id"`
		State   store.ErasureState `json:"state" enum:"asked,deleted,done"`
		Receipt json.RawMessage    `json:"receipt,omitempty" doc:"As doc/operations.md describes it"`
	}
}

func (w *Web) apiErase(ctx context.Context, in *apiEraseInput) (*apiReceiptOutput, error) {
	b := in.Body
	r, err := w.erase(ctx, visitorOf(ctx), b.Reason, site.Target{Tasks: b.Tasks, Library: b.Library, Documents: b.Documents, Batches: b.Batches})
	if err != nil {
		return nil, w.told(err)
	}
	return w.apiReceipt(ctx, r.ID)
}

func (w *Web) apiReceipt(ctx context.Context, id string) (*apiReceiptOutput, error) {
	e, err := w.o.Store.Erasure(ctx, id)
	out := &apiReceiptOutput{}
	out.Body.ID, out.Body.State, out.Body.Receipt = e.ID, e.State, e.Receipt
	return out, w.told(err)
}

// oversees refuses who may not read receipts.
func oversees(v *visitor) error {
	if v.Role != store.RoleAdministrator && v.Role != store.RoleAuditor {
		return fmt.Errorf("receipts as %s: %w", v.Role, concordat.ErrRefused)
	}
	return nil
}

type apiErasureInput struct {
	ID string `path:"id" maxLength:"100"`
}

func (w *Web) apiErasure(ctx context.Context, in *apiErasureInput) (*apiReceiptOutput, error) {
	if err := oversees(visitorOf(ctx)); err != nil {
		return nil, w.told(err)
	}
	return w.apiReceipt(ctx, in.ID)
}

type apiErasuresInput struct {
	Limit  int   `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor int64 `query:"cursor" minimum:"0" doc:"next of the page before"`
}

type apiErasuresOutput struct {
	Body struct {
		Deletions []apiDeletion `json:"deletions"`
		Next      int64         `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

// apiDeletion is a deletion as programs see it.
type apiDeletion struct {
	ID      string             `json:"id"`
	State   store.ErasureState `json:"state"`
	Actor   string             `json:"actor"`
	Receipt json.RawMessage    `json:"receipt,omitempty"`
}

func (w *Web) apiErasures(ctx context.Context, in *apiErasuresInput) (*apiErasuresOutput, error) {
	if err := oversees(visitorOf(ctx)); err != nil {
		return nil, w.told(err)
	}
	es, err := w.o.Store.Erasures(ctx, in.Cursor, in.Limit)
	out := &apiErasuresOutput{}
	out.Body.Deletions = []apiDeletion{}
	for _, e := range es {
		out.Body.Deletions = append(out.Body.Deletions, apiDeletion{e.ID, e.State, e.Actor, e.Receipt})
	}
	if len(es) == in.Limit {
		out.Body.Next = es[len(es)-1].Seq
	}
	return out, w.told(err)
}
