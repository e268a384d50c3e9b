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
	Languages  string  // codes of what is checked and of its source, such as en-zh; und: not known
	Likelihood float64 // at least
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

// LeadPair is a sentence of the submission and the one of the source that is nearest to it, in code points.
type LeadPair struct {
	Span       concordat.Span `json:"span"`
	SourceSpan concordat.Span `json:"source_span"`
	Similarity float64        `json:"similarity"` // 0 to 1
}

// LeadFound has the fields of every lead. Spans are code points.
type LeadFound struct {
	Span       concordat.Span `json:"span"`        // of what is checked
	SourceSpan concordat.Span `json:"source_span"` // of the source
	Kind       string         `json:"kind"`        // rewording, translation or summary
	Languages  [2]string      `json:"languages"`   // of what is checked and of its source: codes, empty: unknown
	Likelihood *float64       `json:"likelihood"`  // nil: not measured
	Encoder    string         `json:"encoder"`     // what compared
	Pairs      []LeadPair     `json:"pairs"`
	State      string         `json:"state"` // open, counted or set_aside
	Comment    string         `json:"comment"`
	By         string         `json:"by"` // who decided; empty: no one, or it is not shown
	At         time.Time      `json:"at"`
}

// Lead is a passage of a submission that seems to say in other words what a source says. It is no evidence.
type Lead struct {
	LeadFound
	Number string     `json:"number"` // L1, L2: the same under all rules
	Source LeadSource `json:"source"`
	Text   string     `json:"text"` // of the source; empty: it is not shown
}

// LeadSource is the document to which a lead leads.
type LeadSource struct {
	concordat.Ref
	Title string `json:"title"`
}

// PartnerLead is a document of a partner that may say the same as a submission, as the partner answered by codes of
// meaning. They have not been compared: AskForPlaces asks for its places.
type PartnerLead struct {
	Number  string           `json:"number"` // P1, P2
	Source  LeadSource       `json:"source"` // the document by the partner's pseudonym
	Author  string           `json:"author"`
	Contact string           `json:"contact"`
	Spans   []concordat.Span `json:"spans"`   // sentences of the submission that it may say, in code points
	Near    int              `json:"near"`    // how many of them stand out as near or very near
	Places  []concordat.Span `json:"places"`  // where it may say them, in bytes of the partner's text
	Outcome string           `json:"outcome"` // lead or none, once its places were compared; empty: they were not
	State   string           `json:"state"`   // of the request for its places; empty: not requested
}

// Leads are the leads of a report that were asked for.
type Leads struct {
	Asked    bool          `json:"asked"` // the check looked for leads
	Total    int           `json:"total"` // of the report, whatever was asked for
	Leads    []Lead        `json:"leads"` // in text order
	Partners []PartnerLead `json:"partner_leads"`
}

// Leads returns the leads of a report that a filter chooses, and all that partners hold that may say the same.
func (c *Client) Leads(ctx context.Context, id concordat.TaskID, f LeadFilter) (Leads, error) {
	var out Leads
	_, err := c.call(ctx, request{method: http.MethodGet, path: at(id, "/leads"), query: f.query()}, &out)
	return out, err
}

// PlacesAsked is a request for the places of a partner's document, and how it stands.
type PlacesAsked struct {
	Source concordat.Ref `json:"source"`
	State  string        `json:"state"` // pending, granted, refused, expired or withdrawn
	Words  string        `json:"words"` // of the partner
}

// AskForPlaces asks a partner to show the places of a PartnerLead, to a person's decision there, for a reason and with who can be asked.
// Once they are shown they are compared, and become leads or fall away.
func (c *Client) AskForPlaces(ctx context.Context, id concordat.TaskID, number, reason, contact string) ([]PlacesAsked, error) {
	var out struct {
		Requests []PlacesAsked `json:"requests"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: at(id, "/requests"), once: true, body: placesAsk{
		0, 1, concordat.ShowPassage, number, reason, contact}}, &out)
	return out.Requests, err
}

// placesAsk has a place of the submission too, which is not looked at.
type placesAsk struct {
	Start   int            `json:"start"`
	End     int            `json:"end"`
	Level   concordat.Show `json:"level"`
	Lead    string         `json:"lead"`
	Reason  string         `json:"reason"`
	Contact string         `json:"contact"`
}

// BatchLead is a lead between two documents of a batch: A says in other words, or in brief, what B says.
type BatchLead struct {
	LeadFound
	A       string `json:"a"` // names of the documents
	B       string `json:"b"`
	NumberA int    `json:"number_a"` // of the documents, from 1
	NumberB int    `json:"number_b"`
	Reason  string `json:"reason"` // why the two are no pair that counts: author, group or draft; empty: it would
}

// ManySay lists documents of a batch, three or more, that say something alike: no lead.
type ManySay struct {
	Documents []string `json:"documents"`
	Held      int      `json:"held"` // number of them
}

// BatchLeads are the leads between the documents of a batch that were asked for.
type BatchLeads struct {
	Asked bool        `json:"asked"` // the batch looked for leads
	Total int         `json:"total"` // between its documents, whatever was asked for
	Leads []BatchLead `json:"leads"` // those that wait for a decision first
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

// Ended is the Data of a Notification that checks or a batch have ended: of check.done and check.failed the first fields, of batch.done
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
