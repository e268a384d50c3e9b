package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"concordat"
)

// LeadFilter selects leads. The zero value selects all.
type LeadFilter struct {
	State      string  // open, counted or set_aside
	Kind       string  // rewording, translation or summary
	Languages  string  // codes of the submission and of the source, for example en-zh; und means unknown
	Likelihood float64 // minimum likelihood
}

func (f LeadFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "kind": f.Kind, "languages": f.Languages} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Likelihood > 0 {
		q.Set("likelihood", strconv.FormatFloat(f.Likelihood, 'g', -1, 64))
	}
	return q
}

// LeadPair is a sentence of the submission and the nearest sentence of the source, in code points.
type LeadPair struct {
	Span       concordat.Span `json:"span"`
	SourceSpan concordat.Span `json:"source_span"`
	Similarity float64        `json:"similarity"` // 0 to 1
}

// LeadFound contains the fields common to all leads. Spans are code points.
type LeadFound struct {
	Span       concordat.Span `json:"span"`        // span of the submission
	SourceSpan concordat.Span `json:"source_span"` // span of the source
	Kind       string         `json:"kind"`        // rewording, translation or summary
	Languages  [2]string      `json:"languages"`   // codes for the submission and the source; empty if unknown
	Likelihood *float64       `json:"likelihood"`  // nil if not measured
	Encoder    string         `json:"encoder"`     // encoder that compared the texts
	Pairs      []LeadPair     `json:"pairs"`
	State      string         `json:"state"` // open, counted or set_aside
	Comment    string         `json:"comment"`
	By         string         `json:"by"` // who decided; empty if no one has decided or it is not shown
	At         time.Time      `json:"at"`
}

// Lead is a passage of a submission that seems to restate a source in other words. It is not evidence.
type Lead struct {
	LeadFound
	Number string     `json:"number"` // L1, L2; the same under all rules
	Source LeadSource `json:"source"`
	Text   string     `json:"text"` // text of the source; empty if not shown
	Own    *OwnWork   `json:"own_work"`
}

// OwnWork is a proposal that a source is earlier work of the submission's author. A person decides.
type OwnWork struct {
	By     string `json:"by"` // orcid, or name, which several people can share
	Author string `json:"author"`
	ORCID  string `json:"orcid"`
}

// LeadSource is the source document of a lead.
type LeadSource struct {
	concordat.Ref
	Title string `json:"title"`
}

// PartnerLead is a partner's document that, according to meaning codes, may say the same as a submission. The texts have not been
// compared; AskForPlaces requests the document's places.
type PartnerLead struct {
	Number  string           `json:"number"` // P1, P2
	Source  LeadSource       `json:"source"` // the document under the partner's pseudonym
	Author  string           `json:"author"`
	Contact string           `json:"contact"`
	Spans   []concordat.Span `json:"spans"`   // sentences of the submission that it may restate, in code points
	Near    int              `json:"near"`    // number of them that are near or very near
	Places  []concordat.Span `json:"places"`  // where it may restate them, in bytes of the partner's text
	Outcome string           `json:"outcome"` // lead or none after its places have been compared; empty until then
	State   string           `json:"state"`   // state of the request for its places; empty if not requested
}

// Leads contains the requested leads of a report.
type Leads struct {
	Asked    bool          `json:"asked"` // the check looked for leads
	Total    int           `json:"total"` // number of leads in the report, regardless of the filter
	Leads    []Lead        `json:"leads"` // in text order
	Partners []PartnerLead `json:"partner_leads"`
}

// Leads returns the leads of a report that match a filter, and all partners' documents that may say the same.
func (c *Client) Leads(ctx context.Context, id concordat.TaskID, f LeadFilter) (Leads, error) {
	var out Leads
	_, err := c.call(ctx, request{method: http.MethodGet, path: at(id, "/leads"), query: f.query()}, &out)
	return out, err
}

// PlacesAsked is a request for the places of a partner's document, with its state.
type PlacesAsked struct {
	Source concordat.Ref `json:"source"`
	State  string        `json:"state"` // pending, granted, refused, expired or withdrawn
	Words  string        `json:"words"` // explanation by the partner
}

// AskForPlaces asks a partner to show the places of a PartnerLead, with a reason and a contact. A person there decides. Once shown, the
// places are compared and either become leads or are dropped.
func (c *Client) AskForPlaces(ctx context.Context, id concordat.TaskID, number, reason, contact string) ([]PlacesAsked, error) {
	var out struct {
		Requests []PlacesAsked `json:"requests"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: at(id, "/requests"), once: true, body: placesAsk{
		0, 1, concordat.ShowPassage, number, reason, contact}}, &out)
	return out.Requests, err
}

// placesAsk also contains a span of the submission, which is ignored.
type placesAsk struct {
	Start   int            `json:"start"`
	End     int            `json:"end"`
	Level   concordat.Show `json:"level"`
	Lead    string         `json:"lead"`
	Reason  string         `json:"reason"`
	Contact string         `json:"contact"`
}

// BatchLead is a lead between two documents of a batch, in which A restates B in other words, or summarises it.
type BatchLead struct {
	LeadFound
	A       string `json:"a"` // names of the documents
	B       string `json:"b"`
	NumberA int    `json:"number_a"` // document numbers, from 1
	NumberB int    `json:"number_b"`
	Reason  string `json:"reason"` // why the pair does not count: author, group or draft; empty if it counts
}

// ManySay lists three or more documents of a batch that say the same thing. Because so many say it, it is not a lead.
type ManySay struct {
	Documents []string `json:"documents"`
	Held      int      `json:"held"` // number of these documents
}

// BatchLeads contains the requested leads between the documents of a batch.
type BatchLeads struct {
	Asked bool        `json:"asked"` // the batch looked for leads
	Total int         `json:"total"` // number of leads between its documents, regardless of the filter
	Leads []BatchLead `json:"leads"` // undecided leads first
	Many  []ManySay   `json:"many"`
}

// BatchLeads returns the leads between the documents of a batch that match a filter.
func (c *Client) BatchLeads(ctx context.Context, batch string, f LeadFilter) (BatchLeads, error) {
	var out BatchLeads
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/batches/" + escape(batch) + "/leads", query: f.query()}, &out)
	return out, err
}

// DecideBatchLead records the decision on a lead of a batch in the reports of both documents. The lead counts (counted), is set aside
// (set_aside), or is undecided (open), which needs no reason.
func (c *Client) DecideBatchLead(ctx context.Context, batch string, l BatchLead, state, reason string) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/batches/" + escape(batch) + "/leads", once: true, body: decidedBatchLead{
		l.NumberA, l.NumberB, decidedLead{l.Span, l.SourceSpan, state, reason}}}, nil)
	return err
}

type decidedBatchLead struct {
	A int `json:"number_a"`
	B int `json:"number_b"`
	decidedLead
}

// Ended is the Data of a Notification that a check or a batch has ended. Events check.done and check.failed set ID to Owner and Leads;
// batch.done sets Batch and the fields after it.
type Ended struct {
	ID     concordat.TaskID     `json:"id"`
	State  concordat.State      `json:"state"`
	Batch  string               `json:"batch"`
	Owner  string               `json:"owner"`
	Checks int                  `json:"checks"`
	Failed int                  `json:"failed"`
	Leads  *concordat.LeadCount `json:"leads"` // nil if not requested
}
