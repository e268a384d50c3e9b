package report

import (
	"time"

	"concordat"
)

// Later is an alert: a document that matches a standing check and was added after the report was made.
type Later struct {
	Alert     int64 // number of the alert
	Source    concordat.Ref
	Title     string
	Authors   []concordat.Creator // if known
	At        time.Time
	Level     concordat.Show // disclosure level of the partner that reported it; empty for a document of this site
	Sentences int            // matching sentences of the submission; 0 if not stated
	Read      LaterMark
	Handled   LaterMark
}

// LaterMark records who has read or handled an alert, and when. The zero value means that no one has.
type LaterMark struct {
	By string
	At time.Time
}

// MaxLater is the maximum number of later documents named in a report.
const MaxLater = 100

type (
	jsonLater struct {
		Alert     int64                `json:"alert"`
		Site      concordat.SiteID     `json:"site"`
		Library   concordat.LibraryID  `json:"library"`
		Document  concordat.DocumentID `json:"document"`
		Title     string               `json:"title"`
		At        time.Time            `json:"at"`
		Level     concordat.Show       `json:"level,omitempty"`
		Sentences int                  `json:"sentences"`
		Author    *jsonOwnWork         `json:"same_author,omitempty"`
		Read      *jsonMark            `json:"read"`
		Handled   *jsonMark            `json:"handled"`
	}
	jsonMark struct {
		By string    `json:"by"`
		At time.Time `json:"at"`
	}
)

func (m LaterMark) json() *jsonMark {
	if m.At.IsZero() {
		return nil
	}
	return &jsonMark{m.By, m.At}
}

func (w writing) later() (out []jsonLater) {
	for _, l := range w.r.Later {
		out = append(out, jsonLater{l.Alert, l.Source.Site, l.Source.Library, l.Source.Document, l.Title, l.At, l.Level, l.Sentences,
			SameAuthor(w.r.Authors, l.Authors).json(), l.Read.json(), l.Handled.json()})
	}
	return out
}

// LaterWords describes each matching document added since, latest first, and says who handled it.
func (r *Report) LaterWords() (out []string) {
	l := r.Language
	minute := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	for _, d := range r.Later {
		title := d.Title
		switch {
		case title != "":
		case d.Source.Document != "" && d.Level == "":
			title = string(d.Source.Document)
		default:
			title = l.Say("a document that is not named")
		}
		place := r.LibraryWords(d.Source.Site, d.Source.Library)
		if d.Level != "" {
			place = r.libraryPlace(d.Source.Site, d.Source.Library)
		}
		said := []string{l.Say("Found since then, on %s: %s, from %s.", minute(d.At), title, place)}
		if d.Sentences > 0 {
			said = append(said, l.Say("Matching sentences: %d.", d.Sentences))
		}
		if words := l.SameAuthorWords(SameAuthor(r.Authors, d.Authors)); words != "" {
			said = append(said, words)
		}
		switch {
		case !d.Handled.At.IsZero():
			said = append(said, l.Say("Handled by %s on %s.", r.Names.Person(d.Handled.By), minute(d.Handled.At)))
		case !d.Read.At.IsZero():
			said = append(said, l.Say("Read by %s on %s, not handled yet.", r.Names.Person(d.Read.By), minute(d.Read.At)))
		default:
			said = append(said, l.Say("This alert has not been read yet."))
		}
		out = append(out, l.Join(said))
	}
	return out
}
