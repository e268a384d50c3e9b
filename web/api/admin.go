package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	siteanswer "concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
	"concordat/view"
	"concordat/web"
	"concordat/web/pages"
	"concordat/web/pages/admin"
	"concordat/web/pages/settings"
)

// adminAPI serves the API operations for people, libraries, webhooks, platforms, deletions and the site itself.
type adminAPI struct{ api api }

// apiOfAdmin adds the operations that correspond to the administration and library pages.
func (w adminAPI) apiOfAdmin(a huma.API) {
	get := func(id, path, summary string) operation {
		return operation{id: id, method: http.MethodGet, path: "/admin" + path, summary: summary, scope: scopeRead, roles: pages.Overseers}
	}
	register(w.api, a, get("get-health", "/health", "Results of the health checks"), w.apiHealth)
	register(w.api, a, get("get-storage", "/storage", "Disk and index"), w.apiStorage)
	register(w.api, a, get("get-schemes", "/schemes", "Fingerprint schemes, including those for partners"), w.apiSchemes)
	register(w.api, a, get("list-settings", "/settings", "Configuration in force, with the origin of each value"), w.apiSettings)
	register(w.api, a, get("get-meaning", "/meaning", "Settings for finding rewritten and translated text: leads, meaning index, encoder"), meaningAPI(w).tell)
	register(w.api, a, operation{id: "change-meaning", method: http.MethodPatch, path: "/admin/meaning",
		summary: "Change how rewritten and translated text is found, without a restart",
		text:    "Returns at once. The index is built and the encoder installed in the background; get-meaning shows the progress. Absent fields stay as they are.",
		scope:   scopeSettings, roles: pages.Administrators, status: http.StatusAccepted}, meaningAPI(w).change)
	register(w.api, a, get("list-tasks", "/tasks", "Tasks, newest first"), w.apiTasks)
	register(w.api, a, operation{id: "retry-task", method: http.MethodPost, path: "/admin/tasks/{id}/retry",
		summary: "Restart a failed task", scope: scopeCheck, roles: pages.Administrators}, w.apiRetry)
	register(w.api, a, get("list-partner-sites", "/partners", "Partner sites, and what each has been asked"), w.apiPartnerSites)
	register(w.api, a, get("get-exposure", "/partners/{site}/exposure", "What a partner was shown"), w.apiExposure)
	register(w.api, a, get("search-audit", "/audit", "Audit entries, newest first"), w.apiAudit)
	register(w.api, a, operation{id: "verify-audit", method: http.MethodPost, path: "/admin/audit/verify",
		summary: "Verify the audit chain", scope: scopeRead, roles: pages.Overseers}, w.apiVerify)
	register(w.api, a, operation{id: "create-library", method: http.MethodPost, path: "/admin/libraries", summary: "Create a library",
		needs: []*huma.Schema{{Properties: map[string]*huma.Schema{"id": {Pattern: `^[0-9A-Za-z][0-9A-Za-z._-]*$`}}}},
		scope: scopeDocuments, roles: pages.Officers}, w.apiMakeLibrary)
	registerEmpty(w.api, a, operation{id: "delete-library", method: http.MethodDelete, path: "/admin/libraries/{id}",
		summary: "Delete a library with all its documents", scope: scopeErase, roles: pages.Administrators, status: http.StatusNoContent},
		w.apiDeleteLibrary)
}

// apiMay returns the caller if it has one of the roles, and otherwise an error.
func apiMay(ctx context.Context, roles ...store.Role) (*pages.Visitor, error) {
	v := visitorOf(ctx)
	for _, r := range roles {
		if v != nil && v.Role == r {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%w: the account's role does not allow this", concordat.ErrRefused)
}

// answer is a response with a JSON body.
type answer[T any] struct{ Body T }

// apiTell returns the result of f if the caller may oversee the site.
func apiTell[T any](ctx context.Context, w *web.Web, f func(context.Context) (T, error)) (*answer[T], error) {
	if _, err := apiMay(ctx, pages.Overseers...); err != nil {
		return nil, err
	}
	body, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return &answer[T]{body}, nil
}

type apiHealthBody struct {
	OK    bool               `json:"ok"`
	Parts []admin.HealthPart `json:"parts"`
}

func (w adminAPI) apiHealth(ctx context.Context, _ *struct{}) (*answer[apiHealthBody], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (apiHealthBody, error) {
		out := apiHealthBody{OK: true, Parts: w.api.Web.State.Health(ctx)}
		for _, p := range out.Parts {
			out.OK = out.OK && p.OK
		}
		return out, nil
	})
}

func (w adminAPI) apiStorage(ctx context.Context, _ *struct{}) (*answer[admin.Storage], error) {
	return apiTell(ctx, w.api.Web, w.api.Web.State.Storage)
}

// apiScheme is the API form of Schemes.
type apiScheme struct {
	Recipe string                  `json:"recipe"`
	Scheme concordat.Scheme        `json:"scheme" doc:"The scheme, with its digest"`
	Keyed  bool                    `json:"keyed" doc:"Whether the fingerprints are keyed by the site"`
	Epochs []siteanswer.EpochState `json:"epochs"`
}

func (w adminAPI) apiSchemes(ctx context.Context, _ *struct{}) (*answer[apiScheme], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (apiScheme, error) {
		s, err := w.api.Web.State.Schemes(ctx)
		if s.Epochs == nil {
			s.Epochs = []siteanswer.EpochState{}
		}
		return apiScheme(s), err
	})
}

type apiSettingsBody struct {
	Settings []view.Setting `json:"settings"`
}

func (w adminAPI) apiSettings(ctx context.Context, _ *struct{}) (*answer[apiSettingsBody], error) {
	return apiTell(ctx, w.api.Web, func(context.Context) (apiSettingsBody, error) {
		out := apiSettingsBody{[]view.Setting{}}
		for _, s := range w.api.Web.Settings.All() {
			out.Settings = append(out.Settings, s.Setting)
		}
		return out, nil
	})
}

// meaningAPI serves the operations that configure how rewritten text is found.
type meaningAPI adminAPI

func (w meaningAPI) tell(ctx context.Context, _ *struct{}) (*answer[settings.Meaning], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (settings.Meaning, error) {
		c, err := w.api.Web.Settings.Control()
		if err != nil {
			return settings.Meaning{}, err
		}
		return c.Meaning(ctx)
	})
}

func (w meaningAPI) change(ctx context.Context, in *struct{ Body settings.MeaningChange }) (*answer[settings.Meaning], error) {
	v, err := apiMay(ctx, pages.Administrators...)
	if err == nil {
		err = w.api.Web.Settings.ChangeMeaning(ctx, v, in.Body)
	}
	if err != nil {
		return nil, err
	}
	return w.tell(ctx, nil)
}

type apiTasksInput struct {
	State  string `query:"state" enum:",queued,running,done,partial,failed"`
	Owner  string `query:"owner"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"next of the previous page; empty: the first page"`
}

type apiTasksBody struct {
	Tasks []view.Check `json:"tasks"`
	Next  string       `json:"next,omitempty" doc:"Cursor of the next page"`
}

func (w adminAPI) apiTasks(ctx context.Context, in *apiTasksInput) (*answer[apiTasksBody], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (apiTasksBody, error) {
		out := apiTasksBody{Tasks: []view.Check{}}
		before := int64(0)
		if err := listOfTasks.Read(in.Cursor, &before); err != nil {
			return out, err
		}
		tasks, err := w.api.Web.Options().Store.Checks.FilterTasks(ctx, store.TaskFilter{States: pages.OneState(concordat.State(in.State)),
			Owner: in.Owner}, before, in.Limit)
		for _, t := range tasks {
			one, err := checksAPI(w).apiTask(ctx, t)
			if err != nil {
				return out, err
			}
			out.Tasks = append(out.Tasks, one)
		}
		if len(tasks) == in.Limit {
			out.Next = listOfTasks.Cursor(tasks[len(tasks)-1].Seq)
		}
		return out, err
	})
}

func (w adminAPI) apiRetry(ctx context.Context, in *apiCheckInput) (*apiCheckOutput, error) {
	v, err := apiMay(ctx, pages.Administrators...)
	if err != nil {
		return nil, err
	}
	t, err := w.api.Web.Visible(ctx, v, concordat.TaskID(in.ID))
	if err == nil {
		err = w.api.Web.Tasks.RetryTask(ctx, v, t)
	}
	if err != nil {
		return nil, err
	}
	return checksAPI(w).apiCheck(ctx, in)
}

type apiPartnerSitesBody struct {
	Partners []view.Partner `json:"partners"`
}

func (w adminAPI) apiPartnerSites(ctx context.Context, _ *struct{}) (*answer[apiPartnerSitesBody], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (apiPartnerSitesBody, error) {
		out := apiPartnerSitesBody{Partners: []view.Partner{}}
		rows, err := w.api.Web.Partners.Rows(ctx)
		for _, p := range rows {
			out.Partners = append(out.Partners, view.OfPartner(p.Partner, p.Title, p.Asked))
		}
		return out, err
	})
}

type apiExposureInput struct {
	Site  string `path:"site"`
	Limit int    `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Maximum number of documents to list individually"`
}

func (w adminAPI) apiExposure(ctx context.Context, in *apiExposureInput) (*answer[*ask.Exposure], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (*ask.Exposure, error) {
		if _, err := w.api.Web.Options().Store.Partners.Partner(ctx, concordat.SiteID(in.Site)); err != nil {
			return nil, err
		}
		x, err := w.api.Web.Options().Asks.Exposure(ctx, concordat.SiteID(in.Site), in.Limit)
		if x != nil && x.Sums == nil {
			x.Sums = []store.ShowingSum{}
		}
		return x, err
	})
}

type apiAuditInput struct {
	Actor  string    `query:"actor"`
	Action string    `query:"action"`
	From   time.Time `query:"from" doc:"Only entries from this instant on"`
	To     time.Time `query:"to" doc:"Only entries before this instant"`
	Limit  int       `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Cursor string    `query:"cursor" maxLength:"4096" doc:"next of the previous page; empty: the first page"`
}

type apiAuditBody struct {
	Entries []view.AuditEntry `json:"entries"`
	Next    string            `json:"next,omitempty" doc:"Cursor of the next page"`
}

func (w adminAPI) apiAudit(ctx context.Context, in *apiAuditInput) (*answer[apiAuditBody], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (apiAuditBody, error) {
		out := apiAuditBody{Entries: []view.AuditEntry{}}
		before := int64(0)
		if err := listOfAudit.Read(in.Cursor, &before); err != nil {
			return out, err
		}
		entries, err := w.api.Web.Options().Store.Audit.SearchAudit(ctx, store.AuditFilter{Actor: in.Actor, Action: in.Action, From: in.From,
			To: in.To}, before,
			in.Limit)
		for _, e := range entries {
			out.Entries = append(out.Entries, view.OfAuditEntry(e))
		}
		if len(entries) == in.Limit {
			out.Next = listOfAudit.Cursor(entries[len(entries)-1].Seq)
		}
		return out, err
	})
}

type apiHead struct {
	Entries int64  `json:"entries" doc:"Number of the last entry, up to which the chain is intact"`
	Hash    string `json:"hash"`
}

func (w adminAPI) apiVerify(ctx context.Context, _ *struct{}) (*answer[apiHead], error) {
	return apiTell(ctx, w.api.Web, func(ctx context.Context) (apiHead, error) {
		h, err := w.api.Web.Options().Store.Audit.VerifyAudit(ctx)
		return apiHead{h.Seq, h.Hash}, err
	})
}

type apiNewLibraryInput struct {
	Body struct {
		ID    string `json:"id" minLength:"1" maxLength:"200"`
		Title string `json:"title,omitempty"`
	}
}

func (w adminAPI) apiMakeLibrary(ctx context.Context, in *apiNewLibraryInput) (*answer[view.Library], error) {
	v, err := apiMay(ctx, pages.Officers...)
	if err != nil {
		return nil, err
	}
	l, err := w.api.Web.Library.CreateLibrary(ctx, v, in.Body.ID, in.Body.Title)
	if err != nil {
		return nil, err
	}
	return &answer[view.Library]{view.OfLibrary(l)}, nil
}

type apiLibraryPath struct {
	ID     string `path:"id"`
	Reason string `query:"reason" maxLength:"1000" doc:"Reason, for the receipt"`
}

func (w adminAPI) apiDeleteLibrary(ctx context.Context, in *apiLibraryPath) (*struct{}, error) {
	v, err := apiMay(ctx, pages.Administrators...)
	var l store.Library
	if err == nil {
		l, err = w.api.Web.Options().Store.Catalogue.Library(ctx, concordat.LibraryID(in.ID))
	}
	if err == nil {
		err = w.api.Web.Library.DeleteLibrary(ctx, v, l, cmp.Or(in.Reason, "deleted by a program"))
	}
	return nil, err
}

// apiOfCluster adds the operation that returns the data of the cluster page.
func (w adminAPI) apiOfCluster(a huma.API) {
	register(w.api, a, operation{id: "get-cluster", method: http.MethodGet, path: "/admin/cluster",
		summary: "Machines of this site and their shards", scope: scopeRead, roles: pages.Overseers},
		func(ctx context.Context, _ *struct{}) (*answer[admin.Cluster], error) {
			return apiTell(ctx, w.api.Web, w.api.Web.State.Cluster)
		})
}
