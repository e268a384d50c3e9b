package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages"
)

// apiOfShares adds the operations on a library's shares with partners.
func (w adminAPI) apiOfShares(a huma.API) {
	register(w.api, a, operation{id: "list-shares", method: http.MethodGet, path: "/libraries/{id}/shares",
		summary: "Partners that a library is open to, by site", scope: scopeDocuments, roles: pages.Administrators}, w.apiShares)
	register(w.api, a, operation{id: "put-share", method: http.MethodPut, path: "/libraries/{id}/shares/{partner}",
		summary: "Open a library to a partner, or change what the partner may ask and see", scope: scopeDocuments, roles: pages.Administrators,
		text: "The whole rule is replaced; absent fields get their defaults."}, w.apiPutShare)
	registerEmpty(w.api, a, operation{id: "delete-share", method: http.MethodDelete, path: "/libraries/{id}/shares/{partner}",
		summary: "Close a library to a partner", scope: scopeDocuments, roles: pages.Administrators,
		status: http.StatusNoContent}, w.apiDeleteShare)
}

type apiShareInput struct {
	ID      string `path:"id"`
	Partner string `path:"partner"`
}

// These fields are repeated here because huma does not describe fields of embedded unexported types.
type apiPutShareInput struct {
	ID      string `path:"id"`
	Partner string `path:"partner"`
	Body    view.ShareRule
}

type apiShareOutput struct{ Body view.Share }

type apiSharesOutput struct {
	Body struct {
		Shares []view.Share `json:"shares" nullable:"false"`
	}
}

func (w adminAPI) apiShares(ctx context.Context, in *apiCheckInput) (*apiSharesOutput, error) {
	l, err := w.api.Web.Options().Store.Catalogue.Library(ctx, concordat.LibraryID(in.ID))
	if err != nil {
		return nil, err
	}
	shares, err := w.api.Web.Options().Store.Answers.Shares(ctx, l.ID, "")
	out := &apiSharesOutput{}
	out.Body.Shares = []view.Share{}
	for _, x := range shares {
		out.Body.Shares = append(out.Body.Shares, view.OfShare(x))
	}
	return out, err
}

func (w adminAPI) apiPutShare(ctx context.Context, in *apiPutShareInput) (*apiShareOutput, error) {
	l, err := w.api.Web.Options().Store.Catalogue.Library(ctx, concordat.LibraryID(in.ID))
	if err != nil {
		return nil, err
	}
	id := concordat.SiteID(in.Partner)
	if known, err := w.api.Web.Shares.Knows(ctx, id); err != nil || !known {
		return nil, cmp.Or(err, fmt.Errorf("partner %s: %w", in.Partner, concordat.ErrNotFound))
	}
	x, err := w.api.Web.Shares.Put(ctx, visitorOf(ctx), store.Share{Library: l.ID, Partner: id, Rule: in.Body.Rule()})
	return &apiShareOutput{view.OfShare(x)}, err
}

func (w adminAPI) apiDeleteShare(ctx context.Context, in *apiShareInput) (*struct{}, error) {
	return nil, w.api.Web.Shares.Close(ctx, visitorOf(ctx), concordat.LibraryID(in.ID), concordat.SiteID(in.Partner))
}
