package view

import (
	"time"

	"concordat"
	"concordat/store"
)

// Library is a library with its own settings.
type Library struct {
	ID        concordat.LibraryID `json:"id"`
	Title     string              `json:"title"`
	Documents int                 `json:"documents"`
	Created   time.Time           `json:"created"`
	Embargo   time.Time           `json:"embargo,omitzero" doc:"Partners get no answer before this date"`
	Expires   time.Time           `json:"expires,omitzero" doc:"The library is not searched from this date on"`
	Forward   string              `json:"forward,omitempty" enum:"unmatched,all,none" doc:"What partners are asked about in checks; absent: as in the site's settings"`
	Template  string              `json:"template,omitempty" doc:"Section template of its documents; absent: none"`
	Meaning   string              `json:"meaning,omitempty" enum:"off" doc:"off: not indexed by meaning; absent: as in the site's settings"`
	KeepDays  int                 `json:"keep_days,omitempty" doc:"Days after which a document is deleted; absent: never"`
	Central   int64               `json:"central,omitempty" doc:"Version of the cluster's settings that contains these; absent: they are changed on this machine"`
}

// OfLibrary converts a library to the form for programs.
func OfLibrary(l store.Library) Library {
	p := l.Policy
	return Library{l.ID, l.Title, l.Documents, l.Created, p.Embargo, p.Expires, p.Forward, p.Template, p.Meaning, p.KeepDays, p.Central}
}

// Wording is wording that a library never counts, or always counts.
type Wording struct {
	Library concordat.LibraryID `json:"library"`
	Name    string              `json:"template" doc:"Name of the wording, such as the file that it came from"`
	Bytes   int                 `json:"bytes"`
	Added   time.Time           `json:"added"`
	Counts  bool                `json:"counts" doc:"true: it counts even if many documents of the library contain it; false: it is template wording"`
	Text    string              `json:"text,omitempty" doc:"The wording; absent from lists"`
}

// OfWording returns wording of a library in the form for programs.
func OfWording(t store.Template, text bool) Wording {
	w := Wording{t.Library, t.Name, len(t.Text), t.Added, t.Counts, ""}
	if text {
		w.Text = t.Text
	}
	return w
}
