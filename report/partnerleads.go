package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
)

// PartnerLead is a partner's document that, according to meaning codes, might say the same as passages of the submission. Its text is
// unknown here. A PartnerLead is a reason to request the text, but is neither a lead nor evidence, nor part of any share.
type PartnerLead struct {
	Number  string          `json:"number"` // P1, P2 and so on
	Source  concordat.Ref   `json:"source"`
	Title   string          `json:"title,omitempty"`
	Author  string          `json:"author,omitempty"`
	Contact string          `json:"contact,omitempty"`
	Date    time.Time       `json:"date,omitzero"` // date of the document
	Job     string          `json:"job"`           // hexadecimal job of the query
	Epoch   concordat.Epoch `json:"epoch"`
	// Spans are the sentences of the submission that the document might restate, in text order without overlaps. Near is the number of
	// them that are near or very near.
	Spans []concordat.Span `json:"spans"`
	Near  int              `json:"near"`
	// Places are where the document might restate them, in bytes of the partner's text.
	Places []concordat.Span `json:"places"`
	// Outcome is the result of comparing the places; empty before they are compared.
	Outcome PartnerLeadOutcome `json:"outcome,omitempty"`
}

// PartnerLeadOutcome is the result of comparing the places of a partner's document.
type PartnerLeadOutcome string

// The outcomes.
const (
	PartnerLeadFound PartnerLeadOutcome = "lead" // it became a lead
	PartnerLeadNone  PartnerLeadOutcome = "none" // it was dropped because the compared places are too dissimilar
)

// Span returns the stretch of the submission from the lead's first sentence to its last.
func (l *PartnerLead) Span() concordat.Span {
	return concordat.Span{Start: l.Spans[0].Start, End: l.Spans[len(l.Spans)-1].End}
}

// partnerLeads returns the partner documents that can be placed in the text, ordered by place.
func (b *builder) partnerLeads() []PartnerLead {
	out := slices.DeleteFunc(slices.Clone(b.f.PartnerLeads), func(l PartnerLead) bool {
		return b.f.Leads == nil || len(l.Spans) == 0 || len(l.Places) == 0 || b.sources.has(l.Source) || b.own.has(l.Source) ||
			slices.ContainsFunc(l.Spans, func(s concordat.Span) bool { return clip(b.text, s) != s || s.Len() == 0 })
	})
	slices.SortStableFunc(out, func(x, y PartnerLead) int {
		return cmp.Or(bySpan(x.Span(), y.Span()), compareRefs(x.Source, y.Source))
	})
	return out
}

// PartnerLeadMeaning explains what a PartnerLead is, in English, for translation.
const PartnerLeadMeaning = "Partners have documents that may say the same thing. They compared meaning codes, not text, so the passages themselves have not been compared. Ask to see the places; they are then compared, and either shown as leads or dropped."

// PartnerLeadWords returns a sentence on what a partner's document might contain and on the state of the request for it.
func (r *Report) PartnerLeadWords(l PartnerLead) string {
	in := r.Language
	what := in.Say("Possible: a partner's document may say the same thing. %s, %d of them near.",
		in.Plural(len(l.Spans), "sentence", "sentences"), l.Near)
	return in.Join([]string{what, in.Say(partnerLeadStates[r.PartnerLeadState(l)])})
}

// partnerLeadStates describes the states of a PartnerLead, in English, for translation.
var partnerLeadStates = map[string]string{
	"":                            "Its text has not been requested.",
	concordat.DisclosurePending:   "Its places were requested; the partner has not decided yet.",
	concordat.DisclosureRefused:   "The partner does not show its places.",
	concordat.DisclosureExpired:   "The request for its places has expired.",
	concordat.DisclosureWithdrawn: "The partner no longer shows its places.",
	string(PartnerLeadFound):      "Its places were shown and compared: it is among the leads.",
	string(PartnerLeadNone):       "Its places were shown and compared: they are not a lead.",
}

// PartnerLeadState returns the outcome for a partner's document, else the state of the latest request for it, or "" if it was never
// requested.
func (r *Report) PartnerLeadState(l PartnerLead) string {
	if l.Outcome != "" {
		return string(l.Outcome)
	}
	for _, d := range slices.Backward(r.Disclosures) {
		if d.Lead && d.Source == l.Source {
			return d.State
		}
	}
	return ""
}

// jsonPartnerLead is a PartnerLead with spans in code points of the submission.
type jsonPartnerLead struct {
	Number  string             `json:"number"`
	Source  jsonLeadSource     `json:"source"`
	Author  string             `json:"author,omitempty"`
	Contact string             `json:"contact,omitempty"`
	Spans   []concordat.Span   `json:"spans"`
	Near    int                `json:"near"`
	Places  []concordat.Span   `json:"places"` // in bytes of the partner's text
	Outcome PartnerLeadOutcome `json:"outcome,omitempty"`
	State   string             `json:"state,omitempty"` // state of the request for its places
}

// PartnerLeadsJSON returns the partner documents that might say the same, in the form that WriteJSON uses for partner_leads.
func (r *Report) PartnerLeadsJSON() ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, x := range newWriting(r).partnerLeads() {
		b, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (w writing) partnerLeads() []jsonPartnerLead {
	var out []jsonPartnerLead
	for _, l := range w.r.PartnerLeads {
		x := jsonPartnerLead{Number: l.Number, Source: jsonLeadSource{l.Source.Site, l.Source.Library, l.Source.Document, l.Title},
			Author: l.Author, Contact: l.Contact, Near: l.Near, Places: l.Places, Outcome: l.Outcome, State: w.r.PartnerLeadState(l)}
		for _, s := range l.Spans {
			x.Spans = append(x.Spans, w.count.Points(s))
		}
		out = append(out, x)
	}
	return out
}

// NumberPartnerLeads numbers the leads that have no number yet.
func NumberPartnerLeads(ls []PartnerLead) {
	next := 1
	for _, l := range ls {
		if n, err := strconv.Atoi(strings.TrimPrefix(l.Number, "P")); err == nil {
			next = max(next, n+1)
		}
	}
	for i := range ls {
		if ls[i].Number == "" {
			ls[i].Number = "P" + strconv.Itoa(next)
			next++
		}
	}
}
