package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"concordat"
)

// LeadFilter chooses leads. The zero value chooses all.
type LeadFilter struct {
	State      string  // open, counted or set_aside
	Kind       string  // rewording, translation or summary
	Languages  string  // codes of the submission and of the source, for example en-zh; und: not known
	Likelihood float64 // minimum
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

// LeadPair is a sentence of the submission and the nearest one of the source, in code points.
type LeadPair struct {
	Span       concordat.Span `json:"span"`
	SourceSpan concordat.Span `json:"source_span"`
	Similarity float64        `json:"similarity"` // 0 to 1
}

// LeadFound has the fields of every lead. Spans are code points.
type LeadFound struct {
	Span       concordat.Span `json:"span"`        // of the submission
	SourceSpan concordat.Span `json:"source_span"` // of the source
	Kind       string         `json:"kind"`        // rewording, translation or summary
	Languages  [2]string      `json:"languages"`   // codes for the submission and the source; empty: unknown
	Likelihood *float64       `json:"likelihood"`  // nil: not measured
	Encoder    string         `json:"encoder"`     // encoder that compared the texts
	Pairs      []LeadPair     `json:"pairs"`
	State      string         `json:"state"` // open, counted or set_aside
	Comment    string         `json:"comment"`
	By         string         `json:"by"` // who decided; empty: nobody, or it is not shown
	At         time.Time      `json:"at"`
}

// Lead is a passage of a submission that seems to restate a source in other words. It is not evidence.
type Lead struct {
	LeadFound
	Number string     `json:"number"` // L1, L2: the same under all rules
	Source LeadSource `json:"source"`
	Text   string     `json:"text"` // of the source; empty: it is not shown
}

// LeadSource is the source document of a lead.
type LeadSource struct {
	concordat.Ref
	Title string `json:"title"`
}

// PartnerLead is a partner's document that may say the same as a submission, according to codes of meaning. The two have not been compared:
// AskForPlaces asks for the document's places.
type PartnerLead struct {
	Number  string           `json:"number"` // P1, P2
	Source  LeadSource       `json:"source"` // the document under the partner's pseudonym
	Author  string           `json:"author"`
	Contact string           `json:"contact"`
	Spans   []concordat.Span `json:"spans"`   // sentences of the submission that it may restate, in code points
	Near    int              `json:"near"`    // how many of them stand out as near or very near
	Places  []concordat.Span `json:"places"`  // where it may restate them, in bytes of the partner's text
	Outcome string           `json:"outcome"` // lead or none, once its places have been compared; empty: not compared yet
	State   string           `json:"state"`   // of the request for its places; empty: not requested
}

// Leads are the requested leads of a report.
type Leads struct {
	Asked    bool          `json:"asked"` // the check looked for leads
	Total    int           `json:"total"` // number in the report, whichever leads were requested
	Leads    []Lead        `json:"leads"` // in text order
	Partners []PartnerLead `json:"partner_leads"`
}

// Leads returns the leads of a report that a filter chooses, and all partners' documents that may say the same.
func (c *Client) Leads(ctx context.Context, id concordat.TaskID, f LeadFilter) (Leads, error) {
	var out Leads
	_, err := c.call(ctx, request{method: http.MethodGet, path: at(id, "/leads"), query: f.query()}, &out)
	return out, err
}

// PlacesAsked is a request for the places of a partner's document, with its state.
type PlacesAsked struct {
	Source concordat.Ref `json:"source"`
	State  string        `json:"state"` // pending, granted, refused, expired or withdrawn
	Words  string        `json:"words"` // the partner's own words
}

// AskForPlaces asks a partner to show the places of a PartnerLead, giving a reason and a contact; a person there decides. Once shown, the
// places are compared, and become leads or are dropped.
func (c *Client) AskForPlaces(ctx context.Context, id concordat.TaskID, number, reason, contact string) ([]PlacesAsked, error) {
	var out struct {
		Requests []PlacesAsked `json:"requests"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: at(id, "/requests"), once: true, body: placesAsk{
		0, 1, concordat.ShowPassage, number, reason, contact}}, &out)
	return out.Requests, err
}

// placesAsk also has a place in the submission, which is ignored.
type placesAsk struct {
	Start   int            `json:"start"`
	End     int            `json:"end"`
	Level   concordat.Show `json:"level"`
	Lead    string         `json:"lead"`
	Reason  string         `json:"reason"`
	Contact string         `json:"contact"`
}

// BatchLead is a lead between two documents of a batch: A restates B in other words, or summarises it.
type BatchLead struct {
	LeadFound
	A       string `json:"a"` // names of the documents
	B       string `json:"b"`
	NumberA int    `json:"number_a"` // of the documents, from 1
	NumberB int    `json:"number_b"`
	Reason  string `json:"reason"` // why the pair does not count: author, group or draft; empty: it counts
}

// ManySay lists three or more documents of a batch that say the same thing, which is therefore not a lead.
type ManySay struct {
	Documents []string `json:"documents"`
	Held      int      `json:"held"` // number of these documents
}

// BatchLeads are the requested leads between the documents of a batch.
type BatchLeads struct {
	Asked bool        `json:"asked"` // the batch looked for leads
	Total int         `json:"total"` // number between its documents, whichever leads were requested
	Leads []BatchLead `json:"leads"` // those waiting for a decision first
	Many  []ManySay   `json:"many"`
}

// BatchLeads returns the leads between the documents of a batch that a filter chooses.
func (c *Client) BatchLeads(ctx context.Context, batch string, f LeadFilter) (BatchLeads, error) {
	var out BatchLeads
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/batches/" + escape(batch) + "/leads", query: f.query()}, &out)
	return out, err
}

// DecideBatchLead decides in the reports of both documents whether a lead of a batch counts (counted), is set aside
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

// Ended is the Data of a Notification that checks or a batch have ended. check.done and check.failed have the first fields, batch.done
// those from Batch on.
type Ended struct {
	ID     concordat.TaskID     `json:"id"`
	State  concordat.State      `json:"state"`
	Batch  string               `json:"batch"`
	Owner  string               `json:"owner"`
	Checks int                  `json:"checks"`
	Failed int                  `json:"failed"`
	Leads  *concordat.LeadCount `json:"leads"` // nil: not requested
}
