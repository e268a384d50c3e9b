package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// Originals renders the pages of submitted files, each of which is identified by the hash of its content, as in store.Files, and the name
// under which it was submitted.
type Originals interface {
	// Paged returns whether the file is kept and has pages that can be shown or, if not, why.
	Paged(ctx context.Context, file site.Part) Pages
	// Find returns where a span of the file's text is on its pages, with its marks on page n only, or without marks if n is 0. Found is not
	// Sure if the text on the page differs from the text that was read.
	Find(ctx context.Context, file site.Part, text string, span concordat.Span, n int) (Found, error)
	// Page returns page n, from 1, or concordat.ErrNotFound. It fails with concordat.ErrInvalid if the file has no readable pages.
	Page(ctx context.Context, file site.Part, n int) (*OriginalPage, error)
	// Layout returns up to n pages from number from, without their pictures, with the marks of spans of the file's text. It fails
	// as Page does.
	Layout(ctx context.Context, file site.Part, text string, spans []concordat.Span, from, n int) (*Layout, error)
}

// Pages tells whether a file has pages that can be shown.
type Pages string

// The values of Pages.
const (
	PagesNone       Pages = ""           // no: it is not kept, or has a format without pages
	PagesShown      Pages = "shown"      // yes: its own, or those that LibreOffice makes from it
	PagesNoOffice   Pages = "nooffice"   // LibreOffice would make them, but is not installed
	PagesUnconfined Pages = "unconfined" // it would, but this system cannot confine it
)

// Found is the location of a passage in its original.
type Found struct {
	Page  int  // page on which it begins, from 1; 0: none
	Sure  bool // the letters there show that it is that passage
	Marks []Mark
}

// Mark is a place on a page, in points from its upper left corner.
type Mark struct{ X, Y, Width, Height float64 }

// OriginalPage is one page as people see it.
type OriginalPage struct {
	Number, Pages int
	Width, Height float64 // points
	PNG           []byte
}

// originals returns the files of a submission, in order. File is empty if the file has no pages, because it was pasted text, has another
// format, or is not kept. If none has pages, originals fails with concordat.ErrNotFound, and why says what is missing.
func (w *Web) originals(ctx context.Context, t store.Task) (out []site.Part, why Pages, err error) {
	var j site.Job
	if w.o.Originals != nil && len(t.Request) > 0 && json.Unmarshal(t.Request, &j) == nil {
		parts := j.Parts
		if len(parts) == 0 {
			parts = []site.Part{{Name: j.Name, File: j.File}}
		}
		for i, p := range parts {
			if p.File == "" {
				continue
			}
			if got := w.o.Originals.Paged(ctx, p); got != PagesShown {
				parts[i].File, why = "", cmp.Or(why, got)
			}
		}
		if slices.ContainsFunc(parts, func(p site.Part) bool { return p.File != "" }) {
			return parts, PagesShown, nil
		}
	}
	return nil, why, fmt.Errorf("original of %s: %w", t.ID, concordat.ErrNotFound)
}

// stretch is the place of a file's text in the text of a report.
type stretch struct {
	whole concordat.Span // span including the name of the file
	own   concordat.Span
}

// stretches returns where the text of each file of a submission is. The stretch is zero if that is not known, since the members of an
// archive are not files of their own.
func stretches(parts []site.Part, rep *report.Report) []stretch {
	out := make([]stretch, len(parts))
	if len(parts) == 1 {
		all := concordat.Span{End: len(rep.Submission.Text)}
		out[0] = stretch{all, all}
		return out
	}
	for _, s := range rep.Sections {
		name := s.Name + "\n\n"
		if s.Span.End > len(rep.Submission.Text) || !strings.HasPrefix(s.Span.In(rep.Submission.Text), name) {
			continue // a section of the text, not a file: the text of a file follows its name
		}
		for i, p := range parts {
			if p.Name == s.Name && out[i].whole.Len() == 0 {
				out[i] = stretch{s.Span, concordat.Span{Start: s.Span.Start + len(name), End: s.Span.End}}
				break
			}
		}
	}
	return out
}

// originalOf returns the index of the file of a submission in which a passage begins, and the file's stretch of the report's
// text. ok is false if the file has no pages, or if it cannot be determined.
func originalOf(parts []site.Part, rep *report.Report, passage concordat.Span) (file int, own concordat.Span, ok bool) {
	for i, s := range stretches(parts, rep) {
		if s.whole.Start <= passage.Start && passage.Start < s.whole.End {
			return i, s.own, parts[i].File != ""
		}
	}
	return 0, own, false
}

// originalLink returns the link to the passage with an index on the page of its original, or "" if there is none.
func (p *checkPage) originalLink(i int) string {
	if _, _, ok := originalOf(p.originals, p.Report, p.Report.Evidence[i].Span); !ok {
		return ""
	}
	return "/checks/" + url.PathEscape(string(p.ID)) + "/pages?passage=" + p.Report.Number(i)
}

// shownPassage is a program's request for a page with a passage marked.
type shownPassage struct {
	File    site.Part
	own     concordat.Span // the file's part of the report's text
	rep     *report.Report
	passage int // index of the passage, from 1; 0: none
}

// ShownPassage returns what the visitor asks to see of a task: passage k, or "" for none. It records who has looked at the
// original.
func (w *Web) ShownPassage(ctx context.Context, v *Visitor, id concordat.TaskID, k string, in report.Language) (s shownPassage, err error) {
	t, err := w.Visible(ctx, v, id)
	if err != nil {
		return s, err
	}
	parts, _, err := w.originals(ctx, t)
	if err != nil {
		return s, err
	}
	if k == "" {
		s.File = parts[slices.IndexFunc(parts, func(p site.Part) bool { return p.File != "" })]
	} else {
		if s.rep, err = w.CurrentReport(ctx, v, t, in); err != nil {
			return s, err
		}
		if s.passage = s.rep.Numbered(k) + 1; s.passage < 1 {
			return s, fmt.Errorf("passage %q: %w", k, concordat.ErrNotFound)
		}
		i, own, ok := originalOf(parts, s.rep, s.rep.Evidence[s.passage-1].Span)
		if !ok {
			return s, fmt.Errorf("original of passage %q: %w", k, concordat.ErrNotFound)
		}
		s.File, s.own = parts[i], own
	}
	w.Audit(ctx, v.Name, "original_read", map[string]any{"task": t.ID})
	return s, nil
}

// Find returns where the passage is, with its marks on page n; it returns zero if there is no passage.
func (w *Web) Find(ctx context.Context, s shownPassage, n int) (Found, error) {
	if s.passage == 0 {
		return Found{}, nil
	}
	e := s.rep.Evidence[s.passage-1].Span
	e = concordat.Span{Start: max(e.Start, s.own.Start) - s.own.Start, End: min(e.End, s.own.End) - s.own.Start}
	if e.End <= e.Start { // the passage is in the name of the file
		return Found{}, nil
	}
	return w.o.Originals.Find(ctx, s.File, s.own.In(s.rep.Submission.Text), e, n)
}
