package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"concordat"
	"concordat/store"
)

// CaseDocument returns the name, in any library, of the document created from a check's submission.
func CaseDocument(check concordat.TaskID) concordat.DocumentID {
	return "check-" + concordat.DocumentID(check)
}

// CaseDocuments returns the library documents created from a check's submission. A repeated check excludes them because they are its own
// text.
func (s *Site) CaseDocuments(ctx context.Context, check concordat.TaskID, libraries []store.Library) (out []concordat.Ref, err error) {
	for _, l := range libraries {
		_, err := s.o.Store.Catalogue.DocumentRow(ctx, l.ID, CaseDocument(check))
		if errors.Is(err, concordat.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s.Ref(l.ID, CaseDocument(check)))
	}
	return out, nil
}

// HasText reports whether the text of a finished check is still stored.
func (s *Site) HasText(ctx context.Context, check concordat.TaskID) (bool, error) {
	f, err := s.KeptFindings(ctx, check)
	if errors.Is(err, concordat.ErrNotFound) {
		return false, nil
	}
	return err == nil && f.TextKept(), err
}

// caseSubmission returns the submission of a finished check as a document for a case, to be added to a library. It fails with
// concordat.ErrNotFound if there are no findings, or no text is stored.
func (s *Site) caseSubmission(ctx context.Context, check, origin concordat.TaskID) (Submission, error) {
	f, err := s.KeptFindings(ctx, check)
	if err != nil {
		return Submission{}, err
	}
	if !f.TextKept() {
		return Submission{}, fmt.Errorf("text of check %s: %w: the text was not kept", check, concordat.ErrNotFound)
	}
	return Submission{ID: CaseDocument(origin), Title: cmp.Or(f.Submission.Title, string(f.Submission.ID)), Text: f.Submission.Text,
		Dated: f.Dated, DatedBy: f.DatedBy}, nil
}

// readParts reads the files of one submission and concatenates their texts in order. If there are several, each text follows its file
// name and becomes a section of that name. It fails with the fault of the first document that cannot be read.
func (q *Queue) readParts(ctx context.Context, j Job) (Item, error) {
	var all []Item
	var leftOut concordat.LeftOut
	for _, p := range j.Parts {
		items := []Item{{Submission: Submission{ID: concordat.DocumentID(p.Name), Text: p.Text}}}
		if p.File != "" {
			var err error
			if items, err = q.o.Read(ctx, Job{Name: p.Name, File: p.File}); err != nil {
				return Item{}, err
			}
		}
		all = append(all, items...)
		for _, item := range items {
			leftOut.Join(item.LeftOut)
		}
	}
	out := Item{Submission: Submission{ID: concordat.DocumentID(j.Name), Title: j.Title}, LeftOut: leftOut}
	var text strings.Builder
	for _, item := range all {
		if item.Err != nil {
			out.Err = fmt.Errorf("%w (%s)", item.Err, item.ID)
			return out, nil
		}
		if len(all) == 1 {
			return item, nil
		}
		begin := text.Len()
		text.WriteString(string(item.ID) + "\n\n")
		at := text.Len()
		text.WriteString(strings.TrimRight(item.Text, "\n") + "\n\n")
		out.Sections = append(out.Sections, concordat.Section{Name: string(item.ID), Span: concordat.Span{Start: begin, End: text.Len()}})
		for _, f := range item.Flags {
			if f.Span != nil {
				f.Span = &concordat.Span{Start: f.Span.Start + at, End: f.Span.End + at}
			}
			out.Flags = append(out.Flags, f)
		}
		out.Author = cmp.Or(out.Author, item.Author)
		out.Title, out.Dated, out.DatedBy = cmp.Or(out.Title, item.Title), cmp.Or(out.Dated, item.Dated), cmp.Or(out.DatedBy, item.DatedBy)
	}
	out.Text = text.String()
	return out, nil
}
