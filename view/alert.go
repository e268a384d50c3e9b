package view

import (
	"cmp"
	"time"

	"concordat"
	"concordat/store"
)

// Alert is a later document that matches a standing check.
type Alert struct {
	Number    int64                `json:"number"`
	Side      store.AlertSide      `json:"side" enum:"found,told"`
	At        time.Time            `json:"at"`
	Check     concordat.TaskID     `json:"check,omitempty" doc:"A check of this site; for alerts found here"`
	Partner   concordat.SiteID     `json:"partner,omitempty" doc:"The partner that asked (told) or that has the document (found)"`
	Name      string               `json:"name,omitempty" doc:"Name of the partner"`
	Job       string               `json:"job,omitempty" doc:"The partner's name for its question; for alerts told to a partner"`
	Purpose   string               `json:"purpose,omitempty" doc:"Purpose of the partner's check; for alerts told to a partner"`
	Asked     time.Time            `json:"asked,omitzero" doc:"When the partner asked; for alerts told to a partner"`
	Level     concordat.Show       `json:"level,omitempty" enum:"exists,counts,metadata,overlap,passage" doc:"What one site told the other; absent: both documents belong to this site"`
	Library   concordat.LibraryID  `json:"library"`
	Document  concordat.DocumentID `json:"document,omitempty" doc:"A pseudonym for a partner's document, or for one of this site's if the partner was not told which it is"`
	Title     string               `json:"title,omitempty"`
	Author    string               `json:"author,omitempty"`
	Contact   string               `json:"contact,omitempty"`
	Sentences int                  `json:"sentences" minimum:"0" doc:"Sentences of the check that match; 0: not disclosed"`
	Words     string               `json:"words,omitempty"`
	Spans     []concordat.Span     `json:"spans,omitempty" nullable:"false" doc:"Matching spans in bytes of UTF-8: in the checked document, or in this site's document that a partner was told about"`
	Read      *Mark                `json:"read,omitempty" doc:"Who read the alert, and when; absent: not read yet"`
	Handled   *Mark                `json:"handled,omitempty" doc:"Who handled the alert, and when; absent: not handled yet"`
	Passages  []string             `json:"passages,omitempty" doc:"Passages in the checked document, or in this site's document that a partner was told about; only when a single alert is read"`
}

// Mark records when and by whom an alert was marked.
type Mark struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// OfAlert returns an alert without its passages. names contains the names of partners; a partner without a name is shown by its site ID.
func OfAlert(a store.Alert, names map[concordat.SiteID]string) Alert {
	partner := a.Partner
	if a.Side != store.AlertTold && a.Level != "" {
		partner = a.Source.Site
	}
	return Alert{a.Seq, a.Side, a.At, a.Task, partner, cmp.Or(names[partner], string(partner)), a.Job, a.Purpose, a.Asked, a.Level,
		a.Source.Library, a.Source.Document, a.Title, a.Author, a.Contact, a.Sentences, a.Words, a.Spans, marked(a.Read), marked(a.Handled), nil}
}

// marked returns the view of a mark, or nil if there is no mark.
func marked(m store.AlertMark) *Mark {
	if m.At.IsZero() {
		return nil
	}
	return &Mark{m.By, m.At}
}
