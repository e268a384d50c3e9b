package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/pages"
)

// apiOfLTI adds the operations on learning platforms, if the site serves any.
func (w adminAPI) apiOfLTI(a huma.API) {
	if w.api.tool == nil {
		return
	}
	do := func(id, method, path, summary string, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, scope: scopePlatforms, roles: pages.Administrators, status: status}
	}
	register(w.api, a, do("list-platforms", http.MethodGet, "/lti/platforms", "Learning platforms, by id", http.StatusOK),
		w.apiPlatforms)
	add := do("add-platform", http.MethodPost, "/lti/platforms", "Register a learning platform", http.StatusCreated)
	add.needs = addresses("auth_url", "token_url", "keys_url")
	add.needs[0].Properties["hosts"] = &huma.Schema{Items: &huma.Schema{Pattern: `^\.?(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+$`}}
	register(w.api, a, add, w.apiAddPlatform)
	register(w.api, a, do("change-platform", http.MethodPatch, "/lti/platforms/{id}",
		"Change the deployments of a platform, or disable or enable it", http.StatusOK), w.apiChangePlatform)
	registerEmpty(w.api, a, do("remove-platform", http.MethodDelete, "/lti/platforms/{id}", "Remove a platform but keep the checks that it requested",
		http.StatusNoContent), w.apiRemovePlatform)
}

type apiPlatformsOutput struct {
	Body struct {
		Platforms []view.Platform `json:"platforms" nullable:"false"`
		Next      string          `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiPlatforms(ctx context.Context, in *bounds.PageInput) (*apiPlatformsOutput, error) {
	all, err := w.api.Web.Options().Store.LTI.LTIPlatforms(ctx)
	out := &apiPlatformsOutput{}
	out.Body.Platforms = []view.Platform{}
	if err == nil {
		all, out.Body.Next, err = bounds.PageOf(in, listOfPlatforms, all, func(p store.LTIPlatform) string { return p.ID })
	}
	for _, p := range all {
		out.Body.Platforms = append(out.Body.Platforms, view.OfPlatform(p))
	}
	return out, err
}

type apiPlatformBody struct{ Body view.Platform }

func (w adminAPI) apiAddPlatform(ctx context.Context, in *apiPlatformBody) (*apiPlatformBody, error) {
	b := in.Body
	p := store.LTIPlatform{ID: b.ID, Name: b.Name, Issuer: b.Issuer, Client: b.Client, AuthURL: b.AuthURL, TokenURL: b.TokenURL,
		TokenAudience: b.TokenAudience,
		KeysURL:       b.KeysURL, Deployments: b.Deployments, Hosts: b.Hosts, Disabled: b.Disabled}
	err := w.api.tool.AddPlatform(ctx, visitorOf(ctx).Name, p)
	if err == nil {
		p, err = w.api.Web.Options().Store.LTI.LTIPlatform(ctx, p.ID)
	}
	return &apiPlatformBody{view.OfPlatform(p)}, err
}

type apiChangePlatformInput struct {
	ID   string `path:"id" maxLength:"32"`
	Body struct {
		Deployments *[]string `json:"deployments,omitempty" maxItems:"1000"`
		Disabled    *bool     `json:"disabled,omitempty"`
	}
}

func (w adminAPI) apiChangePlatform(ctx context.Context, in *apiChangePlatformInput) (*apiPlatformBody, error) {
	v := visitorOf(ctx)
	var err error
	if in.Body.Deployments != nil {
		err = w.api.tool.ChangePlatform(ctx, v.Name, in.ID, "deployments", *in.Body.Deployments)
	}
	if err == nil && in.Body.Disabled != nil {
		action := map[bool]string{true: "disable", false: "enable"}[*in.Body.Disabled]
		err = w.api.tool.ChangePlatform(ctx, v.Name, in.ID, action, nil)
	}
	var p store.LTIPlatform
	if err == nil {
		p, err = w.api.Web.Options().Store.LTI.LTIPlatform(ctx, in.ID)
	}
	return &apiPlatformBody{view.OfPlatform(p)}, err
}

type apiRemovePlatformInput struct {
	ID string `path:"id" maxLength:"32"`
}

func (w adminAPI) apiRemovePlatform(ctx context.Context, in *apiRemovePlatformInput) (*struct{}, error) {
	return nil, w.api.tool.RemovePlatform(ctx, visitorOf(ctx).Name, in.ID)
}
