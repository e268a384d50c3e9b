package report

import (
	"strings"
	"time"

	"concordat"
)

// PartnerSource is what a partner told of a document of its own that is a source of passages. Its
// document's identity is the partner's pseudonym for this site.
type PartnerSource struct {
	concordat.Ref
	Title   string          `json:"title,omitempty"`
	Author  string          `json:"author,omitempty"`
	Contact string          `json:"contact,omitempty"` // whom to turn to
	Date    time.Time       `json:"date,omitzero"`     // of the document
	Level   concordat.Show  `json:"level"`             // of disclosure, as granted
	Job     string          `json:"job,omitempty"`     // of the ask, hexadecimal; empty: a mirror told it
	Epoch   concordat.Epoch `json:"epoch"`
	// Outline is the form in which the partner showed the document around its matches; empty: the
	// passages are the matched sentences themselves.
	Outline string `json:"outline,omitempty"`
	Matches int    `json:"matches"` // sentences of the submission that it matches
}

// Disclosure is one request to have passages of a partner's document opened, and what became of it.
type Disclosure struct {
	Source concordat.Ref  `json:"source"`
	Level  concordat.Show `json:"level"` // ShowOverlap or ShowPassage
	State  string         `json:"state"` // see concordat.DisclosureGranted and its neighbours
	Words  string         `json:"words,omitempty"`
	Reason string         `json:"reason,omitempty"` // as given with the request
	// Contact as given with the request: to whom the partner may turn.
	Contact string    `json:"contact,omitempty"`
	Asked   time.Time `json:"asked"`
	Changed time.Time `json:"changed"` // of State
	Until   time.Time `json:"until,omitzero"`
	// Passages are what was asked for: spans of the submission and of the source.
	Passages []concordat.SpanPair `json:"passages"`
}

// Partner returns what a partner told of its document r; ok is false for a document of this site.
func (r *Report) Partner(ref concordat.Ref) (p PartnerSource, ok bool) {
	for _, p := range r.Partners {
		if p.Ref == ref {
			return p, true
		}
	}
	return PartnerSource{}, false
}

// blank stands for words of a partner's passage that are not shown.
const blank = "▁▁▁"

// SharedWords returns the words of the submission that a partner's passage also has, with a blank
// for what stands between; "" where the partner opened none.
func SharedWords(text string, p concordat.Passage) string {
	var b strings.Builder
	end := p.Span.Start
	for _, s := range p.Shared {
		s = clip(text, s)
		if s.Len() == 0 || s.Start < end {
			continue
		}
		if strings.TrimSpace(text[end:s.Start]) != "" {
			b.WriteString(blank + " ")
		}
		b.WriteString(strings.TrimSpace(s.In(text)) + " ")
		end = s.End
	}
	if b.Len() > 0 && end < p.Span.End && strings.TrimSpace(text[end:p.Span.End]) != "" {
		b.WriteString(blank)
	}
	return strings.TrimSpace(b.String())
}
