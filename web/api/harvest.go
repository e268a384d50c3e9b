package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/harvest"
	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/web/pages/harvests"
)

// harvestAPI serves the operations on harvesting sources.
type harvestAPI struct{ sources harvests.Harvests }

// apiOfHarvest adds the operations on harvesting sources.
func apiOfHarvest(w api, a huma.API) {
	h := harvestAPI{w.Web.Harvests}
	do := func(id, method, path, summary string, roles []store.Role, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, scope: scopeDocuments, roles: roles, status: status}
	}
	admins := pages.Administrators
	register(w, a, do("list-harvests", http.MethodGet, "/harvests", "Sources of documents, by name",
		pages.Overseers,
		http.StatusOK), h.list)
	add := do("add-harvest", http.MethodPost, "/harvests", "Add a source; the site starts reading it at once", admins, http.StatusCreated)
	add.needs = addresses("url")
	register(w, a, add, h.add)
	register(w, a, do("get-harvest", http.MethodGet, "/harvests/{id}", "One source, with its progress", pages.Overseers, http.StatusOK),
		h.one)
	register(w, a, do("run-harvest", http.MethodPost, "/harvests/{id}/run", "Read a source now", admins, http.StatusAccepted), h.run)
	registerEmpty(w, a, do("remove-harvest", http.MethodDelete, "/harvests/{id}", "Remove a source but keep its documents", admins,
		http.StatusNoContent), h.remove)
	register(w, a, do("list-harvest-records", http.MethodGet, "/harvests/{id}/records", "Records of a source, by identifier",
		pages.Overseers,
		http.StatusOK), h.records)
}

type harvestsOutput struct {
	Body struct {
		Harvests []view.Harvest `json:"harvests" nullable:"false"`
		Next     string         `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (h harvestAPI) list(ctx context.Context, in *bounds.PageInput) (*harvestsOutput, error) {
	all, err := h.sources.All(ctx)
	out := &harvestsOutput{}
	if err == nil {
		out.Body.Harvests, out.Body.Next, err = bounds.PageOf(in, listOfHarvests, all, func(s view.Harvest) string { return s.ID })
	}
	return out, err
}

type addHarvestInput struct {
	Body struct {
		ID        string              `json:"id,omitempty" pattern:"^[a-z0-9][a-z0-9.-]{0,63}$" doc:"Name of the source; absent: made from the address"`
		URL       string              `json:"url" maxLength:"2000" doc:"Address of a repository or its OAI-PMH interface, or of a ResourceSync list"`
		Kind      string              `json:"kind,omitempty" enum:"oai,resourcesync" doc:"Protocol; absent: inferred from the address"`
		Library   concordat.LibraryID `json:"library" minLength:"1" maxLength:"2000"`
		Set       string              `json:"set,omitempty" maxLength:"300" pattern:"^[A-Za-z0-9\\-_.!~*'():]*$"`
		Format    string              `json:"format,omitempty" maxLength:"300" pattern:"^[A-Za-z0-9\\-_.!~*'():]*$"`
		Every     int                 `json:"every,omitempty" minimum:"0" maximum:"8760" doc:"Hours between runs; 0: only on request"`
		Withdrawn string              `json:"withdrawn,omitempty" enum:"delete,keep" doc:"What happens to documents that the source withdraws; absent: delete"`
	}
}

type harvestOutput struct{ Body view.Harvest }

func (h harvestAPI) add(ctx context.Context, in *addHarvestInput) (*harvestOutput, error) {
	b := in.Body
	s, err := h.sources.Add(ctx, visitorOf(ctx), harvest.Spec{ID: b.ID, URL: b.URL, Kind: b.Kind, Library: b.Library, Set: b.Set,
		Format: b.Format,
		Every:  time.Duration(b.Every) * time.Hour, Withdrawn: b.Withdrawn})
	return &harvestOutput{s}, err
}

type harvestInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (h harvestAPI) one(ctx context.Context, in *harvestInput) (*harvestOutput, error) {
	s, err := h.sources.One(ctx, in.ID)
	return &harvestOutput{s}, err
}

type runHarvestInput struct {
	ID    string `path:"id" maxLength:"64"`
	Whole bool   `query:"whole" doc:"List everything, and remove whatever the source no longer lists, regardless of the amount"`
}

func (h harvestAPI) run(ctx context.Context, in *runHarvestInput) (*harvestOutput, error) {
	if err := h.sources.Run(ctx, visitorOf(ctx), in.ID, in.Whole); err != nil {
		return nil, err
	}
	return h.one(ctx, &harvestInput{in.ID})
}

func (h harvestAPI) remove(ctx context.Context, in *harvestInput) (*struct{}, error) {
	return nil, h.sources.Remove(ctx, visitorOf(ctx), in.ID)
}

type harvestRecordsInput struct {
	bounds.PageInput
	ID    string `path:"id" maxLength:"64"`
	State string `query:"state" enum:"waiting,kept,embargoed,closed,textless,failed,withdrawing,withdrawn" doc:"Only records in this state"`
}

type harvestRecordsOutput struct {
	Body struct {
		Records []view.HarvestRecord `json:"records" nullable:"false"`
		Next    string               `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (h harvestAPI) records(ctx context.Context, in *harvestRecordsInput) (*harvestRecordsOutput, error) {
	var after string
	if err := listOfHarvestRecords.Read(in.Cursor, &after); err != nil {
		return nil, err
	}
	rows, err := h.sources.Records(ctx, in.ID, store.HarvestRecordState(in.State), after, in.Limit)
	out := &harvestRecordsOutput{}
	out.Body.Records = rows
	if len(rows) == in.Limit {
		out.Body.Next = listOfHarvestRecords.Cursor(rows[len(rows)-1].ID)
	}
	return out, err
}
