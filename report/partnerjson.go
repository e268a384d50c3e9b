package report

import (
	"strings"
	"time"

	"concordat"
)

// jsonPartnerLine holds the additional fields for a partner's consulted library.
type jsonPartnerLine struct {
	Level    concordat.Show    `json:"level,omitempty"`
	Reason   concordat.Reason  `json:"reason,omitempty"`
	Epoch    string            `json:"epoch,omitempty"`
	Unready  float64           `json:"unready,omitempty"`
	Withheld int               `json:"withheld,omitempty"`
	Exposed  concordat.Exposed `json:"exposed,omitzero"`
	Shown    concordat.Shown   `json:"shown,omitzero"`
	Mirror   time.Time         `json:"mirror,omitzero"`
	Standing bool              `json:"standing,omitempty"`
	Leads    string            `json:"leads,omitempty"`

	LeadsMissing int `json:"leads_missing,omitempty"`
	LeadsUnasked int `json:"leads_unasked,omitempty"`
}

func partnerLine(c concordat.Consulted) jsonPartnerLine {
	return jsonPartnerLine{c.Level, c.Reason, c.Epoch, round(c.Unready), c.Withheld, c.Exposed, c.Shown, c.Mirror, c.Standing, c.Leads,
		c.LeadsMissing, c.LeadsUnasked}
}

type jsonDisclosure struct {
	Source   concordat.Ref    `json:"source"`
	Level    concordat.Show   `json:"level"`
	State    string           `json:"state"`
	Words    string           `json:"words,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Contact  string           `json:"contact,omitempty"`
	Asked    time.Time        `json:"asked"`
	Changed  time.Time        `json:"changed"`
	Until    time.Time        `json:"until,omitzero"`
	Passages []concordat.Span `json:"passages"`
}

// addPartners adds everything that partners disclosed besides passages.
func (w writing) addPartners(j *jsonReport) {
	j.Partners, j.Sites = w.r.Partners, w.r.Sites
	j.People, j.Libraries = mentioned(w.r)
	for _, s := range w.r.Statements { // null yields no bytes
		s.Request, s.Payload, s.Signature = append([]byte{}, s.Request...), append([]byte{}, s.Payload...), append([]byte{}, s.Signature...)
		j.Statements = append(j.Statements, s)
	}
	for _, d := range w.r.Disclosures {
		x := jsonDisclosure{d.Source, d.Level, d.State, d.Words, d.Reason, d.Contact, d.Asked, d.Changed, d.Until, []concordat.Span{}}
		for _, p := range d.Passages {
			x.Passages = append(x.Passages, w.count.Points(clip(w.r.Submission.Text, p.Span)))
		}
		j.Disclosures = append(j.Disclosures, x)
	}
}

// sharedOf returns the SharedWords of every part of a source.
func (w writing) sharedOf(parts []concordat.Passage) string {
	var out []string
	for _, p := range parts {
		if s := SharedWords(w.r.Submission.Text, p); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n[…]\n")
}
