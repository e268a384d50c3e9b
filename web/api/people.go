package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat/people"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/web/pages/accounts"
)

func (w adminAPI) apiOfPeople(a huma.API) {
	do := func(id, method, path, summary, text string, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, text: text, scope: scopePeople, roles: pages.Administrators,
			status: status}
	}
	register(w.api, a, do("list-people", http.MethodGet, "/people", "Accounts, by name", "", 0), w.apiPeople)
	register(w.api, a, do("add-person", http.MethodPost, "/people", "Create an account",
		"It has no password yet: the person chooses one with the link, which is shown only once. 409 if the name is taken.", http.StatusCreated),
		w.apiAddPerson)
	change := do("change-person", http.MethodPatch, "/people/{name}", "Disable or enable an account, or change its role",
		"Absent fields stay as they are. Disabling an account or changing its role ends all its sessions and tokens. You cannot disable your own account "+
			"or change your own role.", 0)
	change.needs = []*huma.Schema{need(nil, "role"), need(nil, "disabled")}
	register(w.api, a, change, w.apiChangePerson)
	register(w.api, a, do("new-link", http.MethodPost, "/people/{name}/link", "Make a new link for choosing a password",
		"It is shown only once and works for three days.", http.StatusCreated), w.apiLink)
}

type apiPerson struct {
	Name     string     `json:"name"`
	Title    string     `json:"title" doc:"The person's name"`
	Role     store.Role `json:"role" enum:"administrator,officer,submitter,auditor"`
	Created  time.Time  `json:"created"`
	Disabled bool       `json:"disabled"`
}

func personOf(a store.Account) apiPerson {
	return apiPerson{a.Name, a.Title, a.Role, a.Created, a.Disabled}
}

type apiPeopleOutput struct {
	Body struct {
		People []apiPerson `json:"people" nullable:"false"`
		Next   string      `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiPeople(ctx context.Context, in *bounds.PageInput) (*apiPeopleOutput, error) {
	all, err := w.api.Web.Options().Store.People.Accounts(ctx)
	out := &apiPeopleOutput{}
	out.Body.People = []apiPerson{}
	if err == nil {
		all, out.Body.Next, err = bounds.PageOf(in, listOfPeople, all, func(a store.Account) string { return a.Name })
	}
	for _, a := range all {
		out.Body.People = append(out.Body.People, personOf(a))
	}
	return out, err
}

type apiPersonLink struct {
	Person  apiPerson `json:"person"`
	Link    string    `json:"link" doc:"Path of the page, relative to the site's address; a secret"`
	Expires time.Time `json:"expires"`
}

type apiPersonLinkOutput struct{ Body apiPersonLink }

type apiAddPersonInput struct {
	Body struct {
		Name  string     `json:"name" minLength:"1" maxLength:"100" doc:"Name with which the person signs in"`
		Title string     `json:"title,omitempty" maxLength:"500" doc:"The person's name, at most 500 bytes"`
		Role  store.Role `json:"role" enum:"administrator,officer,submitter,auditor"`
	}
}

func (w adminAPI) apiAddPerson(ctx context.Context, in *apiAddPersonInput) (*apiPersonLinkOutput, error) {
	asked := store.Account{Name: in.Body.Name, Title: in.Body.Title, Role: in.Body.Role}
	a, link, err := w.api.Web.People.Add(ctx, visitorOf(ctx).Name, asked)
	return linkOutput(a, link), err
}

func linkOutput(a store.Account, l people.Link) *apiPersonLinkOutput {
	return &apiPersonLinkOutput{apiPersonLink{personOf(a), accounts.JoinPath(l), l.Expires}}
}

// PersonInput is the input that identifies an account.
type PersonInput struct {
	Name string `path:"name"`
}

type apiChangePersonInput struct {
	PersonInput
	Body struct {
		Disabled *bool       `json:"disabled,omitempty"`
		Role     *store.Role `json:"role,omitempty" enum:"administrator,officer,submitter,auditor"`
	}
}

type apiPersonOutput struct{ Body apiPerson }

func (w adminAPI) apiChangePerson(ctx context.Context, in *apiChangePersonInput) (*apiPersonOutput, error) {
	change := people.Change{Disabled: in.Body.Disabled, Role: in.Body.Role}
	a, err := w.api.Web.People.Change(ctx, visitorOf(ctx).Name, in.Name, change)
	return &apiPersonOutput{personOf(a)}, err
}

func (w adminAPI) apiLink(ctx context.Context, in *PersonInput) (*apiPersonLinkOutput, error) {
	a, link, err := w.api.Web.People.NewLink(ctx, visitorOf(ctx).Name, in.Name)
	return linkOutput(a, link), err
}

func (w adminAPI) apiOfTokens(a huma.API) {
	do := func(id, method, path, summary, text string, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, text: text, scope: scopeTokens, roles: pages.Everyone,
			status: status}
	}
	register(w.api, a, do("list-tokens", http.MethodGet, "/tokens", "Tokens of your account, newest first", "", 0), w.apiTokens)
	register(w.api, a, do("make-token", http.MethodPost, "/tokens", "Create a token for your account",
		"It can have only scopes of this token. The secret is shown only once.", http.StatusCreated), w.apiMakeToken)
	registerEmpty(w.api, a, do("revoke-token", http.MethodDelete, "/tokens/{id}", "Revoke a token of your account",
		"It may be this one. Revoking a token that does not exist is not an error.", http.StatusNoContent), w.apiRevokeToken)
	me := operation{id: "get-me", method: http.MethodGet, path: "/me", summary: "The account that the token acts for, and what it may do",
		scope: scopeRead, roles: pages.Everyone}
	register(w.api, a, me, w.apiMe)
}

type apiMeOutput struct {
	Body struct {
		Account apiPerson `json:"account"`
		Scopes  []string  `json:"scopes" nullable:"false"`
		Expires time.Time `json:"expires" doc:"When the token expires"`
	}
}

func (w adminAPI) apiMe(ctx context.Context, _ *struct{}) (*apiMeOutput, error) {
	out := &apiMeOutput{}
	t := tokenOf(ctx)
	out.Body.Account, out.Body.Scopes, out.Body.Expires = personOf(visitorOf(ctx).Account), append([]string{}, t.Scopes...), t.Expires
	return out, nil
}

func tokenOf(ctx context.Context) store.Token {
	t, _ := ctx.Value(tokenKey{}).(store.Token)
	return t
}

type apiToken struct {
	ID      store.TokenID `json:"id"`
	Name    string        `json:"name" doc:"Purpose of the token"`
	Scopes  []string      `json:"scopes" nullable:"false"`
	Origins []string      `json:"origins,omitempty" doc:"Addresses below which the token accepts notifications"`
	Made    time.Time     `json:"made"`
	Expires time.Time     `json:"expires"`
	Used    *time.Time    `json:"used,omitempty" doc:"Last use, to the hour"`
}

type apiTokensOutput struct {
	Body struct {
		Tokens []apiToken `json:"tokens" nullable:"false"`
		Next   string     `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiTokens(ctx context.Context, in *bounds.PageInput) (*apiTokensOutput, error) {
	var made int64
	var after string
	if err := listOfTokens.Read(in.Cursor, &made, &after); err != nil {
		return nil, err
	}
	ids, tokens, err := w.api.Web.Options().Store.People.Tokens(ctx, visitorOf(ctx).Name, store.PurposeAPI)
	if err != nil {
		return nil, err
	}
	out := &apiTokensOutput{}
	out.Body.Tokens = []apiToken{}
	for i, t := range tokens {
		if at := t.Made.UnixMicro(); in.Cursor != "" && (at > made || at == made && string(ids[i]) <= after) {
			continue // already listed on an earlier page
		}
		if n := len(out.Body.Tokens); n == in.Limit {
			last := out.Body.Tokens[n-1]
			out.Body.Next = listOfTokens.Cursor(last.Made.UnixMicro(), last.ID)
			break
		}
		out.Body.Tokens = append(out.Body.Tokens, apiToken{ids[i], t.Name, append([]string{}, t.Scopes...), t.Origins,
			t.Made, t.Expires, moment(t.Used)})
	}
	return out, nil
}

type apiMakeTokenInput struct {
	Body struct {
		Name    string                  `json:"name" minLength:"1" maxLength:"200" doc:"Purpose of the token"`
		Scopes  bounds.Distinct[string] `json:"scopes" minItems:"1" maxItems:"20" enum:"read,check,review,documents,people,tokens,hooks,erase,platforms,inbox,settings"`
		Days    int                     `json:"days,omitempty" minimum:"1" maximum:"365" default:"365" doc:"Lifetime in days"`
		Origins bounds.Distinct[string] `json:"origins,omitempty" maxItems:"20" doc:"Web addresses below which the token accepts notifications; allowed only with the scope inbox, which needs them"`
	}
}

type apiMadeTokenOutput struct {
	Body struct {
		Secret  string    `json:"secret" doc:"The token itself"`
		Expires time.Time `json:"expires"`
	}
}

func (w adminAPI) apiMakeToken(ctx context.Context, in *apiMakeTokenInput) (*apiMadeTokenOutput, error) {
	secret, t, err := w.api.Web.People.MakeToken(ctx, visitorOf(ctx).Name, people.NewToken{Name: in.Body.Name, Scopes: in.Body.Scopes,
		Lasts: time.Duration(in.Body.Days) * 24 * time.Hour, Within: append([]string{}, tokenOf(ctx).Scopes...),
		Origins: in.Body.Origins, WithinOrigins: tokenOf(ctx).Origins})
	out := &apiMadeTokenOutput{}
	out.Body.Secret, out.Body.Expires = secret, t.Expires
	return out, err
}

type apiRevokeTokenInput struct {
	ID string `path:"id"`
}

func (w adminAPI) apiRevokeToken(ctx context.Context, in *apiRevokeTokenInput) (*struct{}, error) {
	return &struct{}{}, w.api.Web.People.RevokeToken(ctx, visitorOf(ctx).Name, store.TokenID(in.ID))
}
