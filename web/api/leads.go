package api

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"concordat/report"
)

// LeadsInput is the input that selects leads.
type LeadsInput struct {
	State      report.LeadState `query:"state" enum:"open,counted,set_aside" doc:"Only leads in this state; absent: all"`
	Kind       report.LeadKind  `query:"kind" enum:"rewording,summary,translation" doc:"Only leads of this kind; absent: all"`
	Languages  string           `query:"languages" pattern:"^[a-z]{2,3}-[a-z]{2,3}$" doc:"Only leads between these languages, the submission's first, such as en-zh; und means unknown; absent: all"`
	Likelihood float64          `query:"likelihood" minimum:"0" maximum:"1000" doc:"Only leads at least this likely; 0: all"`
}

func (in *LeadsInput) filter() report.LeadFilter {
	return report.LeadFilter{Kind: in.Kind, Languages: in.Languages, Least: in.Likelihood, State: in.State}
}

type apiLeadsInput struct {
	ID string `path:"id"`
	LeadsInput
}

// leadItem is one lead in the JSON form of reports.
type leadItem json.RawMessage

// MarshalJSON returns the item unchanged.
func (l leadItem) MarshalJSON() ([]byte, error) { return l, nil }

// Schema returns the schema of a lead in a report.
func (leadItem) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/ReportLead"}
}

// partnerLeadItem is a partner's document that may say the same thing in other words, in the JSON form of reports.
type partnerLeadItem json.RawMessage

// MarshalJSON returns the item unchanged.
func (l partnerLeadItem) MarshalJSON() ([]byte, error) { return l, nil }

// Schema returns the schema of a partner's lead in a report.
func (partnerLeadItem) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/ReportPartnerLead"}
}

type apiLeadsOutput struct {
	Body struct {
		Asked        bool              `json:"asked" doc:"Whether the check looked for leads"`
		Total        int               `json:"total" doc:"Number of all leads in the report, whatever the filter"`
		Leads        []leadItem        `json:"leads" nullable:"false"`
		PartnerLeads []partnerLeadItem `json:"partner_leads" nullable:"false" doc:"Partners' documents that may say the same thing, whatever the filter; they are not leads"`
	}
}

func (w reviewsAPI) apiLeads(ctx context.Context, in *apiLeadsInput) (*apiLeadsOutput, error) {
	v := visitorOf(ctx)
	t, err := w.api.reported(ctx, v, in.ID)
	if err != nil {
		return nil, err
	}
	now, err := w.api.Web.Reviews.Of(ctx, t)
	if err != nil {
		return nil, err
	}
	rep, err := w.api.Web.Reports.Seen(ctx, v, t.ID, now, report.English, false)
	if err != nil {
		return nil, err
	}
	out := &apiLeadsOutput{}
	b := &out.Body
	b.Asked, b.Total, b.Leads, b.PartnerLeads = rep.Leads != nil, len(rep.Leads), []leadItem{}, []partnerLeadItem{}
	leads, err := rep.LeadsJSON(in.filter())
	if err != nil {
		return nil, err
	}
	for _, l := range leads {
		b.Leads = append(b.Leads, leadItem(l))
	}
	partners, err := rep.PartnerLeadsJSON()
	for _, l := range partners {
		b.PartnerLeads = append(b.PartnerLeads, partnerLeadItem(l))
	}
	return out, err
}
