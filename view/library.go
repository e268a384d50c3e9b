package view

import (
	"time"

	"concordat"
	"concordat/store"
)

// Library is a library with the settings of its own.
type Library struct {
	ID        concordat.LibraryID `json:"id"`
	Title     string              `json:"title"`
	Documents int                 `json:"documents"`
	Created   time.Time           `json:"created"`
	Embargo   time.Time           `json:"embargo,omitzero" doc:"Before it partners get no answer"`
	Expires   time.Time           `json:"expires,omitzero" doc:"From then on it is not asked"`
	Forward   string              `json:"forward,omitempty" enum:"unmatched,all,none" doc:"What of checks partners are asked; absent: as the site's setting says"`
	Template  string              `json:"template,omitempty" doc:"Section template of its documents; absent: none"`
	Meaning   string              `json:"meaning,omitempty" enum:"off" doc:"Absent: as the site's setting says"`
	KeepDays  int                 `json:"keep_days,omitempty" doc:"After how many days a document is deleted; absent: never"`
	Central   int64               `json:"central,omitempty" doc:"Version of the settings of all machines that has these; absent: they are changed on this machine"`
}

// OfLibrary returns a library in the form that programs get.
func OfLibrary(l store.Library) Library {
	p := l.Policy
	return Library{l.ID, l.Title, l.Documents, l.Created, p.Embargo, p.Expires, p.Forward, p.Template, p.Meaning, p.KeepDays, p.Central}
}
