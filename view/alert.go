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
	Check     concordat.TaskID     `json:"check,omitempty" doc:"Of this site; of found"`
	Partner   concordat.SiteID     `json:"partner,omitempty" doc:"Who asked, of told; who has the document, of found"`
	Name      string               `json:"name,omitempty" doc:"Of the partner"`
	Job       string               `json:"job,omitempty" doc:"The partner's name of its question; of told"`
	Purpose   string               `json:"purpose,omitempty" doc:"Of the partner's check; of told"`
	Asked     time.Time            `json:"asked,omitzero" doc:"When the partner asked; of told"`
	Level     concordat.Show       `json:"level,omitempty" enum:"exists,counts,metadata,overlap,passage" doc:"What was told between sites; absent: check and document are of this site"`
	Library   concordat.LibraryID  `json:"library"`
	Document  concordat.DocumentID `json:"document,omitempty" doc:"A pseudonym of a partner's document, and of one of this site where the partner was not told which it is"`
	Title     string               `json:"title,omitempty"`
	Author    string               `json:"author,omitempty"`
	Contact   string               `json:"contact,omitempty"`
	Sentences int                  `json:"sentences" minimum:"0" doc:"Of the check that match; 0: not told"`
	Words     string               `json:"words,omitempty"`
	Spans     []concordat.Span     `json:"spans,omitempty" nullable:"false" doc:"That match, in bytes of UTF-8: of the check's document, or of this site's document of which a partner was told"`
	Read      *Mark                `json:"read,omitempty" doc:"Absent: nobody has read it"`
	Handled   *Mark                `json:"handled,omitempty" doc:"Absent: nobody has handled it"`
	Passages  []string             `json:"passages,omitempty" doc:"Of the check's document, or of this site's document of which a partner was told; of one alert only"`
}

// Mark says who did something, and when.
type Mark struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// OfAlert returns an alert without its passages. Names are those of partners; one without a name has its site's.
func OfAlert(a store.Alert, names map[concordat.SiteID]string) Alert {
	partner := a.Partner
	if a.Side != store.AlertTold && a.Level != "" {
		partner = a.Source.Site
	}
	return Alert{a.Seq, a.Side, a.At, a.Task, partner, cmp.Or(names[partner], string(partner)), a.Job, a.Purpose, a.Asked, a.Level,
		a.Source.Library, a.Source.Document, a.Title, a.Author, a.Contact, a.Sentences, a.Words, a.Spans, marked(a.Read), marked(a.Handled), nil}
}

// marked is nil if no one made the mark.
func marked(m store.AlertMark) *Mark {
	if m.At.IsZero() {
		return nil
	}
	return &Mark{m.By, m.At}
}
