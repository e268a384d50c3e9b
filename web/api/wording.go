package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/pages"
)

// wordingAPI has the operations on the wording that a library never counts, or always counts.
type wordingAPI struct{ api api }

func (w wordingAPI) operations(a huma.API) {
	do := func(id, method, path, summary string) operation {
		return operation{id: id, method: method, path: path, summary: summary, scope: scopeDocuments, roles: pages.Administrators}
	}
	const one = "/libraries/{id}/wording/{name}"
	register(w.api, a, do("list-wording", http.MethodGet, "/libraries/{id}/wording",
		"Names of wording that a library never counts, or always counts"), w.list)
	register(w.api, a, do("get-wording", http.MethodGet, one, "Wording that a library never counts, or always counts, with its text"), w.one)
	put := do("put-wording", http.MethodPut, one, "Set wording that later checks against the library never count, or always count")
	put.body = bounds.ListsBody
	put.text = "It replaces wording with the same name. This decides undecided wording for every later check against the library; " +
		"existing reports stay as they are."
	register(w.api, a, put, w.put)
	remove := do("delete-wording", http.MethodDelete, one, "Withdraw a decision about wording")
	remove.status = http.StatusNoContent
	registerEmpty(w.api, a, remove, w.remove)
}

type apiWordingInput struct {
	ID   string `path:"id"`
	Name string `path:"name"`
}

type apiPutWordingInput struct {
	ID   string `path:"id"`
	Name string `path:"name" maxLength:"1024"`
	Body struct {
		Text   string `json:"text" minLength:"1" doc:"The wording"`
		Counts bool   `json:"counts,omitempty" doc:"true: it counts even if many documents of the library contain it; false: it is template wording"`
	}
}

type apiWordingOutput struct{ Body view.Wording }

type apiWordingListOutput struct {
	Body struct {
		Wording []view.Wording `json:"wording" nullable:"false"`
	}
}

func (w wordingAPI) all(ctx context.Context, id string) ([]store.Template, error) {
	l, err := w.api.Web.Options().Store.Catalogue.Library(ctx, concordat.LibraryID(id))
	if err != nil {
		return nil, err
	}
	return w.api.Web.Options().Store.Catalogue.Templates(ctx, l.ID)
}

func (w wordingAPI) list(ctx context.Context, in *apiCheckInput) (*apiWordingListOutput, error) {
	all, err := w.all(ctx, in.ID)
	out := &apiWordingListOutput{}
	out.Body.Wording = []view.Wording{}
	for _, t := range all {
		out.Body.Wording = append(out.Body.Wording, view.OfWording(t, false))
	}
	return out, err
}

func (w wordingAPI) one(ctx context.Context, in *apiWordingInput) (*apiWordingOutput, error) {
	all, err := w.all(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.Name == in.Name {
			return &apiWordingOutput{view.OfWording(t, true)}, nil
		}
	}
	return nil, fmt.Errorf("wording %s of %s: %w", in.Name, in.ID, concordat.ErrNotFound)
}

func (w wordingAPI) put(ctx context.Context, in *apiPutWordingInput) (*apiWordingOutput, error) {
	t := store.Template{Library: concordat.LibraryID(in.ID), Name: in.Name, Text: in.Body.Text,
		Added: w.api.Web.Options().Now(), Counts: in.Body.Counts}
	if err := w.api.Web.Library.PutWording(ctx, visitorOf(ctx), t); err != nil {
		return nil, err
	}
	return w.one(ctx, &apiWordingInput{in.ID, in.Name}) // as it was stored
}

func (w wordingAPI) remove(ctx context.Context, in *apiWordingInput) (*struct{}, error) {
	return nil, w.api.Web.Library.DeleteWording(ctx, visitorOf(ctx), concordat.LibraryID(in.ID), in.Name)
}
