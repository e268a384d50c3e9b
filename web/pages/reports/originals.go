package reports

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
	"concordat/web/pages"
)

// Originals renders the pages of submitted files. A file is identified by the hash of its content, as in store.Files, and the name under
// which it was submitted.
type Originals interface {
	// Paged returns whether the file is kept and has pages that can be shown and, if not, the reason.
	Paged(ctx context.Context, file site.Part) Pages
	// Find returns the location of a span of the file's text, with its marks on page n only; if n is 0, it returns no marks. Found.Sure
	// is false if the text on the page differs from the extracted text.
	Find(ctx context.Context, file site.Part, text string, span concordat.Span, n int) (Found, error)
	// Page returns page n, from 1, or concordat.ErrNotFound. It fails with concordat.ErrInvalid if the file has no readable pages.
	Page(ctx context.Context, file site.Part, n int) (*OriginalPage, error)
	// Layout returns up to n pages from number from, without their images, with the marks of spans of the file's text. It fails under the
	// same conditions as Page.
	Layout(ctx context.Context, file site.Part, text string, spans []concordat.Span, from, n int) (*Layout, error)
}

// Pages states whether a file has pages that can be shown.
type Pages string

// The values of Pages.
const (
	PagesNone       Pages = ""           // no: it is not kept, or its format has no pages
	PagesShown      Pages = "shown"      // yes: the file's own, or pages rendered by LibreOffice
	PagesNoOffice   Pages = "nooffice"   // no: they require LibreOffice, which is not installed
	PagesUnconfined Pages = "unconfined" // no: they require LibreOffice, which this system cannot confine
)

// Found is the location of a passage in its original.
type Found struct {
	Page  int  // page on which it begins, from 1; 0 if not found
	Sure  bool // the letters on the page match the passage
	Marks []Mark
}

// Mark is a rectangle on a page, in points from the upper left corner.
type Mark struct{ X, Y, Width, Height float64 }

// OriginalPage is a page rendered for display.
type OriginalPage struct {
	Number, Pages int
	Width, Height float64 // in points
	PNG           []byte
}

// submitted finds the pages of submitted files.
type submitted struct{ originals Originals } // nil if no pages can be shown

// of returns the files of a submission in order. File is empty for a file without pages: pasted text, another format, or a file that was
// not kept. If no file has pages, of fails with concordat.ErrNotFound, and why is the reason.
func (s submitted) of(ctx context.Context, t store.Task) (out []site.Part, why Pages, err error) {
	var j site.Job
	if s.originals != nil && len(t.Request) > 0 && json.Unmarshal(t.Request, &j) == nil {
		parts := j.Parts
		if len(parts) == 0 {
			parts = []site.Part{{Name: j.Name, File: j.File}}
		}
		for i, p := range parts {
			if p.File == "" {
				continue
			}
			if got := s.originals.Paged(ctx, p); got != PagesShown {
				parts[i].File, why = "", cmp.Or(why, got)
			}
		}
		if slices.ContainsFunc(parts, func(p site.Part) bool { return p.File != "" }) {
			return parts, PagesShown, nil
		}
	}
	return nil, why, fmt.Errorf("original of %s: %w", t.ID, concordat.ErrNotFound)
}

// stretch is the location of a file's text in the text of a report.
type stretch struct {
	whole concordat.Span // span including the name of the file
	own   concordat.Span
}

// stretches returns the location of each file's text in the report. The stretch is zero if it is unknown, since the members of an archive
// are not files of the submission.
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
			continue // a section within a file, since a file's text follows its name
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

// originalOf returns the index of the submitted file in which a passage begins, and the file's stretch of the report's text. ok is false
// if the file has no pages or cannot be determined.
func originalOf(parts []site.Part, rep *report.Report, passage concordat.Span) (file int, own concordat.Span, ok bool) {
	for i, s := range stretches(parts, rep) {
		if s.whole.Start <= passage.Start && passage.Start < s.whole.End {
			return i, s.own, parts[i].File != ""
		}
	}
	return 0, own, false
}

// originalLink returns the link to passage i on the page of its original, or "" if there is none.
func (p *checkPage) originalLink(i int) string {
	if _, _, ok := originalOf(p.originals, p.Report, p.Report.Evidence[i].Span); !ok {
		return ""
	}
	return "/checks/" + url.PathEscape(string(p.ID)) + "/pages?passage=" + p.Report.Number(i)
}

// ShownPassage is a program's request for a page with a marked passage.
type ShownPassage struct {
	originals Originals
	file      site.Part
	own       concordat.Span // the file's part of the report's text
	rep       *report.Report
	passage   int // number of the passage, from 1; 0 for none
}

// ShownPassage returns the part of a task that the visitor requests: passage k, or none if k is "". It records that the visitor viewed
// the original.
func (w Reports) ShownPassage(ctx context.Context, v *pages.Visitor, id concordat.TaskID, k string, in report.Language) (s ShownPassage,
	err error) {
	t, err := w.o.Tasks.Visible(ctx, v, id)
	if err != nil {
		return s, err
	}
	parts, _, err := w.submitted.of(ctx, t)
	if err != nil {
		return s, err
	}
	s.originals = w.submitted.originals
	if k == "" {
		s.file = parts[slices.IndexFunc(parts, func(p site.Part) bool { return p.File != "" })]
	} else {
		if s.rep, err = w.Current(ctx, v, t, in); err != nil {
			return s, err
		}
		if s.passage = s.rep.Numbered(k) + 1; s.passage < 1 {
			return s, fmt.Errorf("passage %q: %w", k, concordat.ErrNotFound)
		}
		i, own, ok := originalOf(parts, s.rep, s.rep.Evidence[s.passage-1].Span)
		if !ok {
			return s, fmt.Errorf("original of passage %q: %w", k, concordat.ErrNotFound)
		}
		s.file, s.own = parts[i], own
	}
	w.Audit(ctx, v.Name, "original_read", map[string]any{"task": t.ID})
	return s, nil
}

// Page returns page n of the file, as Originals.Page does.
func (s ShownPassage) Page(ctx context.Context, n int) (*OriginalPage, error) {
	return s.originals.Page(ctx, s.file, n)
}

// Find returns the location of the passage, with its marks on page n, or the zero value if no passage was requested.
func (s ShownPassage) Find(ctx context.Context, n int) (Found, error) {
	if s.passage == 0 {
		return Found{}, nil
	}
	e := s.rep.Evidence[s.passage-1].Span
	e = concordat.Span{Start: max(e.Start, s.own.Start) - s.own.Start, End: min(e.End, s.own.End) - s.own.Start}
	if e.End <= e.Start { // the passage is in the name of the file
		return Found{}, nil
	}
	return s.originals.Find(ctx, s.file, s.own.In(s.rep.Submission.Text), e, n)
}
