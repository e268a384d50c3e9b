package reports

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

// notice describes an action on a check.
type notice struct {
	Task     concordat.TaskID
	By       string // name of the person who acted; empty for the visitor
	Key      string // message key
	Subject  string
	Was, Now *float64 // scores before and after; nil if not measured or not changed
	Undo     int      // the change that the visitor can undo; 0 for none
	Remove   bool     // the visitor can remove the submission from the library again
}

// notices are the messages on a page.
type notices struct {
	Told   []notice
	Latest int    // number of the latest note or change included; 0 if not stated
	At     string // an undo returns to this place: "text", "pages" or "passage"
	People pages.Names
}

// Notices returns the messages about the visitor's last action.
func (p *checkPage) Notices() notices {
	at := "text"
	if p.Number != "" {
		at = "passage"
	} else if p.Layout != nil {
		at = "pages"
	}
	return notices{Told: p.Told, People: p.People, At: at}
}

// tell describes a change of the rules, with the scores before and after it.
func (w Reports) tell(ctx context.Context, v *pages.Visitor, id concordat.TaskID, c review.Change, rep *report.Report) notice {
	one := notice{Task: id, Key: "change." + c.Action, Subject: subjectOf(rep, c.Action, c.Subject)}
	if c.By != v.Name {
		one.By = c.By
	} else if c.MayUndo() {
		one.Undo = c.Seq
	}
	if c.Action == "undo" && c.Undoes() > 0 {
		_, rest, _ := strings.Cut(c.Subject, " ")
		action, subject, _ := strings.Cut(rest, " ")
		one.Key, one.Subject = "undone."+action, subjectOf(rep, action, subject)
	}
	for i, rules := range []report.Rules{c.Before, c.After} {
		got, err := w.o.Cache.Reading(ctx, id, rules, rep.Language, review.SeeEverything)
		if err != nil || !got.Report.Scores.Measured() {
			return one
		}
		share := got.Report.Scores.Covered
		if strings.HasSuffix(one.Key, "-lead") {
			share = got.Report.Scores.Leads
		}
		if i == 0 {
			one.Was = &share
		} else {
			one.Now = &share
		}
	}
	return one
}

// subjectOf returns the display name of what was changed: the letter and title of a source, or the number of a passage.
func subjectOf(rep *report.Report, action, subject string) string {
	if strings.HasSuffix(action, "source") || strings.HasSuffix(action, "own-work") {
		for _, s := range rep.Sources {
			is := func(r concordat.Ref) bool { return strings.TrimRight(r.String(), "/") == subject }
			if s.Title != "" && slices.ContainsFunc(s.AllPlaces(), is) {
				return s.Letter() + " “" + s.Title + "”"
			}
		}
		return subject
	}
	if strings.HasSuffix(action, "-group") {
		return report.GroupTitle(rep.Language, concordat.Group(subject))
	}
	at, why, ok := review.PlaceOf(subject)
	if !ok {
		return subject
	}
	number := rep.NumberAt(at)
	switch {
	case number == "":
		return subject
	case why != "":
		return number + ": " + why
	}
	return number
}

// changed returns the notice about the change that led to the page.
func (w Reports) changed(r *http.Request, v *pages.Visitor, p *checkPage) []notice {
	seq, err := strconv.Atoi(r.URL.Query().Get("changed"))
	if err != nil || p.Review == nil {
		return nil
	}
	for _, c := range p.Review.Log {
		if c.Seq == seq {
			return []notice{w.tell(r.Context(), v, p.ID, c, p.Report)}
		}
	}
	for _, n := range p.Review.Handling {
		if n.Seq == seq {
			return []notice{tellHandling(v, p.ID, n)}
		}
	}
	return nil
}

// tellHandling describes a change in the handling of a case.
func tellHandling(v *pages.Visitor, id concordat.TaskID, n store.Review) notice {
	one := notice{Task: id, Key: "told." + string(n.Kind), Subject: n.Text}
	if n.Text == "" && n.Kind != store.ReviewEdited && n.Kind != store.ReviewRemoved {
		one.Key += ".none"
	}
	if n.By != v.Name {
		one.By = n.By
	} else {
		one.Remove = n.Kind == store.ReviewLibrary && n.Text != ""
	}
	return one
}

// changesPart writes, as a page fragment, what others have done to a check since the visitor's page was rendered.
func (w Reports) changesPart(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p, _, err := w.reader(r, v, true)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	after, _ := strconv.Atoi(r.URL.Query().Get("after")) // an unparsable value means everything
	var out template.HTML
	if p.Review != nil {
		var all []notice
		for _, c := range p.Review.Log {
			if c.Seq > after && c.By != v.Name {
				all = append(all, w.tell(r.Context(), v, p.ID, c, p.Report))
			}
		}
		for _, n := range p.Review.Notes {
			if n.Seq > after && n.By != v.Name {
				all = append(all, notice{Task: p.ID, By: n.By, Key: "told." + string(n.Kind), Subject: review.Shortened(n.Text)})
			}
		}
		for _, n := range p.Review.Handling {
			if n.Seq > after && n.By != v.Name {
				all = append(all, tellHandling(v, p.ID, n))
			}
		}
		if len(all) > 0 {
			out = w.piece(message.LanguageOf(r), "told", notices{Told: all, Latest: p.Review.Latest, People: p.People})
		}
	}
	rw.Header().Set("Cache-Control", "no-store")
	part(rw, r, out)
}

// noted is a note in the form shown on pages.
type noted struct {
	store.Review
	Task    concordat.TaskID
	Passage string    // number of the passage that the note concerns; empty for the whole report
	Edited  time.Time // zero if it was not edited
	Who     string    // name of its author
	Own     bool      // the visitor's own comment, which the visitor can change
	Where   string    // the form returns to this place on the page; empty in the list of all notes
}

// noted returns the note in the form shown on pages.
func (p *checkPage) noted(n store.Review) noted {
	return noted{Review: n, Task: p.ID, Who: p.People.Of(n.By), Edited: p.Review.Edited[n.Seq],
		Own: p.MayReview && n.Kind == store.ReviewComment && n.By == p.Me}
}

// Noted returns the notes, oldest first, with the passages that they concern.
func (p *checkPage) Noted() []noted {
	var out []noted
	for _, n := range p.Review.Notes {
		one := p.noted(n)
		one.Passage = review.PassageOf(n, p.Report)
		out = append(out, one)
	}
	return out
}
