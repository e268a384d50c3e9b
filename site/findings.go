package site

import (
	"concordat"
	"concordat/report"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Findings returns the findings of a check as they are visible today, or concordat.ErrNotFound. Sources under an embargo lack their title
// and wording, and a flag reports sources deleted since.
func (s *Site) Findings(ctx context.Context, id concordat.TaskID) (*report.Findings, error) {
	f, _, err := s.FindingsAt(ctx, id)
	return f, err
}

// FindingsAt is like Findings, and also returns the revision, which increases with every change.
func (s *Site) FindingsAt(ctx context.Context, id concordat.TaskID) (*report.Findings, int64, error) {
	f, revision, err := s.findingsAt(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	f, err = s.redactHidden(ctx, f)
	return f, revision, err
}

// KeptFindings returns the findings of a check as stored.
func (s *Site) KeptFindings(ctx context.Context, id concordat.TaskID) (*report.Findings, error) {
	f, _, err := s.findingsAt(ctx, id)
	return f, err
}

// findingsAt is like KeptFindings, and also returns the revision.
func (s *Site) findingsAt(ctx context.Context, id concordat.TaskID) (*report.Findings, int64, error) {
	data, revision, err := s.o.Store.Checks.FindingsAt(ctx, id)
	if err != nil {
		return nil, 0, fmt.Errorf("findings of %s: %w", id, err)
	}
	var f report.Findings
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, 0, fmt.Errorf("findings of %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	if err := f.Validate(); err != nil {
		return nil, 0, fmt.Errorf("findings of %s: %w", id, err)
	}
	return &f, revision, nil
}

// changes is the number of attempts to change findings; conflicting changes are rare and brief.
const changes = 8

// ChangeFindings applies a change to a task's findings and stores the result. If another process has changed them in the meantime, it
// reads them again and reapplies the change, so that no change is lost; after eight attempts, it fails with concordat.ErrChanged.
func (s *Site) ChangeFindings(ctx context.Context, id concordat.TaskID, change func(*report.Findings)) error {
	var err error
	for range changes {
		var f *report.Findings
		var revision int64
		if f, revision, err = s.findingsAt(ctx, id); err != nil {
			return err
		}
		change(f)
		data, err2 := json.Marshal(f)
		if err2 != nil {
			return err2
		}
		if err = s.o.Store.Checks.ReplaceFindings(ctx, id, revision, data); !errors.Is(err, concordat.ErrChanged) {
			return err
		}
	}
	return err
}

// DocumentText returns the text of a document of this site, or "" if it belongs to another site or is gone.
func (s *Site) DocumentText(ctx context.Context, ref concordat.Ref) (string, error) {
	if ref.Site != s.o.ID {
		return "", nil
	}
	t, err := s.o.Store.Retention.Term(ctx, ref.Library, ref.Document)
	if err == nil && s.o.Now().Before(t.Hidden) {
		return "", nil // under an embargo
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return "", err
	}
	d, err := s.o.Index.Document(ctx, ref)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && d == nil {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("document %s: %w", ref, err)
	}
	return d.Text, nil
}
