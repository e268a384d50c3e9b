package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat/store"
	"concordat/web"
	"concordat/web/bounds"
)

// apiOfLTI adds the learning platforms, where the site has them.
func (w adminAPI) apiOfLTI(a huma.API) {
	if w.api.tool == nil {
		return
	}
	do := func(id, method, path, summary string, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, scope: scopePlatforms, roles: web.Administrators, status: status}
	}
	register(w.api, a, do("list-platforms", http.MethodGet, "/lti/platforms", "Learning platforms, in order of id", http.StatusOK),
		w.apiPlatforms)
	add := do("add-platform", http.MethodPost, "/lti/platforms", "Register a learning platform", http.StatusCreated)
	add.needs = addresses("auth_url", "token_url", "keys_url")
	add.needs[0].Properties["hosts"] = &huma.Schema{Items: &huma.Schema{Pattern: `^\.?(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+$`}}
	register(w.api, a, add, w.apiAddPlatform)
	register(w.api, a, do("change-platform", http.MethodPatch, "/lti/platforms/{id}",
		"Change the deployments of a platform, or disable or enable it", http.StatusOK), w.apiChangePlatform)
	register(w.api, a, do("remove-platform", http.MethodDelete, "/lti/platforms/{id}", "Forget a platform; the checks it asked for stay",
		http.StatusNoContent), w.apiRemovePlatform)
}

// apiPlatform is a learning platform as programs see it.
type apiPlatform struct {
	ID            string    `json:"id" doc:"Short name: lower-case letters, digits and hyphens" pattern:"^[a-z0-9][a-z0-9-]{0,31}$"`
	Name          string    `json:"name,omitempty" maxLength:"1000"`
	Issuer        string    `json:"issuer" minLength:"1" maxLength:"1000"`
	Client        string    `json:"client" minLength:"1" maxLength:"1000" doc:"Client id of this site there"`
	AuthURL       string    `json:"auth_url" maxLength:"4000" doc:"Authentication request address"`
	TokenURL      string    `json:"token_url" maxLength:"4000" doc:"Access token address"`
	TokenAudience string    `json:"token_audience,omitempty" maxLength:"4000" doc:"Of requests for tokens; none: token_url"`
	KeysURL       string    `json:"keys_url" maxLength:"4000" doc:"Public keyset address"`
	Deployments   []string  `json:"deployments,omitempty" maxItems:"1000" doc:"Deployment ids that are accepted; *: any"`
	Hosts         []string  `json:"hosts,omitempty" maxItems:"100" doc:"Other hosts of its services; a leading dot: and all below"`
	Disabled      bool      `json:"disabled,omitempty"`
	Made          time.Time `json:"made,omitzero" readOnly:"true"`
}

func apiPlatformOf(p store.LTIPlatform) apiPlatform {
	return apiPlatform{p.ID, p.Name, p.Issuer, p.Client, p.AuthURL, p.TokenURL, p.TokenAudience, p.KeysURL, p.Deployments, p.Hosts,
		p.Disabled, p.Made}
}

type apiPlatformsOutput struct {
	Body struct {
		Platforms []apiPlatform `json:"platforms" nullable:"false"`
		Next      string        `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiPlatforms(ctx context.Context, in *bounds.PageInput) (*apiPlatformsOutput, error) {
	all, err := w.api.Web.Options().Store.LTI.LTIPlatforms(ctx)
	out := &apiPlatformsOutput{}
	out.Body.Platforms = []apiPlatform{}
	if err == nil {
		all, out.Body.Next, err = bounds.PageOf(in, listOfPlatforms, all, func(p store.LTIPlatform) string { return p.ID })
	}
	for _, p := range all {
		out.Body.Platforms = append(out.Body.Platforms, apiPlatformOf(p))
	}
	return out, err
}

type apiPlatformBody struct{ Body apiPlatform }

func (w adminAPI) apiAddPlatform(ctx context.Context, in *apiPlatformBody) (*apiPlatformBody, error) {
	b := in.Body
	p := store.LTIPlatform{ID: b.ID, Name: b.Name, Issuer: b.Issuer, Client: b.Client, AuthURL: b.AuthURL, TokenURL: b.TokenURL,
		TokenAudience: b.TokenAudience,
		KeysURL:       b.KeysURL, Deployments: b.Deployments, Hosts: b.Hosts, Disabled: b.Disabled}
	err := w.api.tool.AddPlatform(ctx, visitorOf(ctx).Name, p)
	if err == nil {
		p, err = w.api.Web.Options().Store.LTI.LTIPlatform(ctx, p.ID)
	}
	return &apiPlatformBody{apiPlatformOf(p)}, err
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
	return &apiPlatformBody{apiPlatformOf(p)}, err
}

type apiRemovePlatformInput struct {
	ID string `path:"id" maxLength:"32"`
}

func (w adminAPI) apiRemovePlatform(ctx context.Context, in *apiRemovePlatformInput) (*struct{}, error) {
	return nil, w.api.tool.RemovePlatform(ctx, visitorOf(ctx).Name, in.ID)
}
