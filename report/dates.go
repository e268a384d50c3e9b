package report

import (
	"strings"
	"time"

	"concordat"
)

// SourceDate is the known age of a source.
type SourceDate struct {
	Source concordat.Ref        `json:"source"`
	Date   concordat.Date       `json:"date,omitempty"` // date of the document; empty if unknown
	By     concordat.DateOrigin `json:"by,omitempty"`
	Added  time.Time            `json:"added,omitzero"` // when it was added to its library, which is not its date
}

// aged is a source of one passage, with its age.
type aged struct {
	ref concordat.Ref
	age *concordat.Age
}

// markOldest marks, among the sources of one passage, every source that no other certainly predates. A lone dated document is not marked,
// because there is nothing to compare it with.
func markOldest(all []aged) {
	known := map[concordat.Ref]bool{}
	for _, d := range all {
		if d.age.Date != "" {
			known[d.ref] = true
		}
	}
	for _, d := range all {
		d.age.Oldest = d.age.Date != "" && len(known) > 1
		for _, e := range all {
			if e.age.Date.Before(d.age.Date) {
				d.age.Oldest = false
				break
			}
		}
	}
}

// ages returns everything the findings reveal about the age of each source.
func (b *builder) ages() map[concordat.Ref]concordat.Age {
	out := make(map[concordat.Ref]concordat.Age, len(b.f.Dates))
	for _, d := range b.f.Dates {
		if d.Date.Validate() != nil {
			d.Date = ""
		}
		out[d.Source] = concordat.Age{Date: d.Date, By: d.By, Added: d.Added, Later: b.f.Dated.Before(d.Date)}
	}
	// A work is as old as its oldest text.
	for _, all := range b.copies.of {
		var oldest concordat.Age
		for _, ref := range all {
			if d := out[ref]; d.Date != "" && (oldest.Date == "" || d.Date.Before(oldest.Date)) {
				oldest = d
			}
		}
		for _, ref := range all {
			d := oldest
			d.Added = out[ref].Added
			out[ref] = d
		}
	}
	return out
}

// DateWords describes the age of a source: its date and where the date comes from, or that the date is unknown, and when the source was
// added to its library.
func (l Language) DateWords(d concordat.Age) string {
	var parts []string
	switch {
	case d.Date == "":
		parts = append(parts, l.Say("date unknown"))
	case d.By == concordat.DateOfFile:
		parts = append(parts, l.Say("dated %s by its file", d.Date))
	default:
		parts = append(parts, l.Say("dated %s", d.Date))
	}
	if !d.Added.IsZero() {
		parts = append(parts, l.Say("added %s", d.Added.UTC().Format(time.DateOnly)))
	}
	if d.Later {
		parts = append(parts, l.Say("later than the checked text"))
	}
	if d.Oldest {
		parts = append(parts, l.Say("oldest known"))
	}
	return strings.Join(parts, l.Say(", "))
}
