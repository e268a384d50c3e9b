package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
)

// undone returns the current rules with one change undone and later changes kept. before and after are the rules before and after that
// change. A rule that was changed again keeps its current value; in lists, only the entries that the change added or removed are
// affected.
func undone(before, after, now report.Rules) (report.Rules, error) {
	var maps [3]map[string]json.RawMessage
	for i, r := range []report.Rules{before, after, now} {
		b, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(b, &maps[i])
		}
		if err != nil {
			return now, fmt.Errorf("undo: %w", err)
		}
	}
	b, a, n := maps[0], maps[1], maps[2]
	keys := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			keys[k] = true
		}
	}
	for k := range keys {
		switch {
		case bytes.Equal(b[k], a[k]):
		case bytes.Equal(a[k], n[k]):
			n[k] = b[k]
		default:
			if got, ok := undoneList(b[k], a[k], n[k]); ok {
				n[k] = got
			}
		}
		if n[k] == nil {
			delete(n, k)
		}
	}
	all, err := json.Marshal(n)
	if err != nil {
		return now, fmt.Errorf("undo: %w", err)
	}
	var out report.Rules
	return out, json.Unmarshal(all, &out)
}

// undoneList is undone for one list. It returns false if the values are not lists.
func undoneList(before, after, now json.RawMessage) (json.RawMessage, bool) {
	var lists [3][]json.RawMessage
	for i, raw := range []json.RawMessage{before, after, now} {
		if raw != nil && json.Unmarshal(raw, &lists[i]) != nil {
			return nil, false
		}
	}
	has := func(list []json.RawMessage, x json.RawMessage) bool {
		return slices.ContainsFunc(list, func(y json.RawMessage) bool { return bytes.Equal(x, y) })
	}
	out := []json.RawMessage{}
	for _, x := range lists[2] {
		if !has(lists[1], x) || has(lists[0], x) { // the change did not add it
			out = append(out, x)
		}
	}
	for _, x := range lists[0] {
		if !has(lists[1], x) && !has(out, x) { // the change removed it
			out = append(out, x)
		}
	}
	raw, err := json.Marshal(out)
	return raw, err == nil
}

// undoOwn returns the rules without one change of the visitor's own, and the change itself. If seq is 0, the change is the latest that
// has not been undone. Other people's changes are kept.
func (w reportPages) undoOwn(ctx context.Context, v *Visitor, id concordat.TaskID, seq int) (report.Rules, string, error) {
	now, err := w.reviewOf(ctx, id)
	if err != nil {
		return report.Rules{}, "", err
	}
	for _, c := range slices.Backward(now.Log) {
		if c.By != v.Name || !c.MayUndo() || seq != 0 && c.Seq != seq {
			continue
		}
		rules, err := undone(c.before, c.after, now.Rules)
		return rules, strings.TrimSpace(fmt.Sprintf("%d %s %s", c.Seq, c.Action, c.Subject)), err
	}
	return now.Rules, "", message.Invalid("wrong.undo")
}

// MayUndo reports whether the author of the change can undo it.
func (c change) MayUndo() bool { return c.Action != "undo" && !c.Undone }

// undoes returns the number of the undone change, or 0 if an older version recorded the undo without a number.
func (c change) undoes() int {
	if c.Action != "undo" {
		return 0
	}
	first, _, _ := strings.Cut(c.Subject, " ")
	n, _ := strconv.Atoi(first)
	return n
}

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
	Latest int    // number of the latest note or change included; 0: not stated
	At     string // where the reader is, to which an undo returns: "text", "pages" or "passage"
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
func (w reportPages) tell(ctx context.Context, v *Visitor, id concordat.TaskID, c change, rep *report.Report) notice {
	one := notice{Task: id, Key: "change." + c.Action, Subject: subjectOf(rep, c.Action, c.Subject)}
	if c.By != v.Name {
		one.By = c.By
	} else if c.MayUndo() {
		one.Undo = c.Seq
	}
	if c.Action == "undo" && c.undoes() > 0 {
		_, rest, _ := strings.Cut(c.Subject, " ")
		action, subject, _ := strings.Cut(rest, " ")
		one.Key, one.Subject = "undone."+action, subjectOf(rep, action, subject)
	}
	for i, rules := range []report.Rules{c.before, c.after} {
		got, err := w.Reading(ctx, id, rules, rep.Language, SeeEverything)
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
	at, why, ok := placeOf(subject)
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

// placeOf reads the subject of a change of a passage: its span, then the reason if there is one.
func placeOf(subject string) (at concordat.Span, why string, ok bool) {
	place, why, _ := strings.Cut(subject, ": ")
	from, to, ok := strings.Cut(place, "–")
	start, err := strconv.Atoi(from)
	end, err2 := strconv.Atoi(to)
	return concordat.Span{Start: start, End: end}, why, ok && err == nil && err2 == nil
}

// place returns where the report shows a change: the start of a passage or, if the change is about none, the id of an element.
func (c change) place() (start, id string) {
	switch at, _, ok := placeOf(c.Subject); {
	case ok:
		return strconv.Itoa(at.Start), ""
	case strings.HasSuffix(c.Action, "source"), strings.HasSuffix(c.Action, "own-work"):
		return "", "sources"
	case strings.HasSuffix(c.Action, "-group"):
		return "", "over"
	case strings.HasSuffix(c.Action, "-lead"):
		return "", "leads"
	}
	return "", "rules"
}

// changed returns the notice about the change that led to the page.
func (w reportPages) changed(r *http.Request, v *Visitor, p *checkPage) []notice {
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
func tellHandling(v *Visitor, id concordat.TaskID, n store.Review) notice {
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
func (w reportPages) changesPart(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	p, _, err := w.reader(r, v, true)
	if err != nil {
		w.Fail(rw, r, v, err)
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
				all = append(all, notice{Task: p.ID, By: n.By, Key: "told." + string(n.Kind), Subject: shortened(n.Text)})
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
	Where   string    // its location on the page, to which the form returns; empty among all notes
}

// passageOf returns the span that a comment concerns; it is empty for the whole report.
func passageOf(n store.Review) concordat.Span {
	var at struct{ Start, End int }
	if n.Kind != store.ReviewComment || json.Unmarshal(n.Data, &at) != nil {
		return concordat.Span{}
	}
	return concordat.Span{Start: at.Start, End: at.End}
}

// PassageOf returns the number of the passage that a comment concerns. It returns "" if the comment concerns the whole report, if the
// passage does not exist under the report's rules, or if rep is nil.
func PassageOf(n store.Review, rep *report.Report) string {
	at := passageOf(n)
	if at.Len() == 0 || rep == nil {
		return ""
	}
	return rep.NumberAt(at)
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
		one.Passage = PassageOf(n, p.Report)
		out = append(out, one)
	}
	return out
}
